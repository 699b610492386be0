import { describe, expect, test } from 'vitest';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { summarize } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import type { Comparison } from '../../src/config/comparison.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

const histogram = (unsolved: number, mixed: number, solved: number) => ({
  'env/success_rate_hist/0': unsolved,
  'env/success_rate_hist/1': 0,
  'env/success_rate_hist/2': mixed,
  'env/success_rate_hist/3': 0,
  'env/success_rate_hist/4': solved,
});
/** Learns early, stays in the band, and asks for ever more. */
const tuned: Course = {
  heldOut: (seed) => [0.1, 0.4 + seed / 100, 0.6, 0.8],
  success: () => 0.5,
  metrics: (epoch) => ({
    'env/difficulty': epoch,
    'completions/correct_mean_length': 2 * epoch,
    'env/effective_group_ratio': 0.9,
    ...(epoch <= 4 ? histogram(8, 8, 0) : histogram(2, 10, 4)),
  }),
};
/** Learns late, and never passes the threshold under seed 3. */
const random: Course = {
  heldOut: (seed) => [0.1, 0.1, 0.2, seed === 3 ? 0.45 : 0.7],
  success: (epoch) => epoch / 20,
  metrics: () => ({
    'env/difficulty': 3,
    'completions/correct_mean_length': 5,
    'env/effective_group_ratio': 0.3,
    ...histogram(12, 4, 0),
  }),
};
const summary = (changes: Partial<Comparison> = {}): Summary => {
  const plan = { ...comparison(), ...changes };
  return summarize(plan, runs(plan, { tuned, random }), []);
};
const armOf = ({ arms }: Summary, name: string) => arms.find(({ arm }) => arm === name)!;
const differencesFrom = (summed: Summary, reference: string, name: string) => {
  const { rows } = summed.against.find((against) => against.reference === reference)!;
  return rows.find(({ arm }) => arm === name)?.differences;
};

describe('figures of an arm', () => {
  const { figures } = armOf(summary(), 'tuned');

  test('area under the held-out curve and the score at the end, mean over seeds', () => {
    // Trapezoids of (0.1, 0.42, 0.6, 0.8) in the mean.
    expect(figures.area?.mean).toBeCloseTo((0.5 * 0.1 + 0.42 + 0.6 + 0.5 * 0.8) / 3, 9);
    expect(figures.area!.low).toBeLessThan(figures.area!.mean);
    expect(figures.finalHeldOut?.mean).toBeCloseTo(0.8, 9);
    expect(figures.finalHeldOut?.seeds).toBe(3);
  });

  test('rollouts to the threshold, linear between evaluations; those compared where a seed does not come to it', () => {
    // 64 rollouts an epoch; from 0.4 + seed / 100 at epoch 4 to 0.6 at epoch 8.
    const expected = [1, 2, 3].map((seed) => 256 + (256 * (0.1 - seed / 100)) / (0.2 - seed / 100));
    expect(figures.rolloutsToThreshold?.mean).toBeCloseTo(
      (expected[0]! + expected[1]! + expected[2]!) / 3,
      6,
    );
    const late = armOf(summary(), 'random');
    // 0.5 of the way from 0.2 to 0.7 under two seeds; the third has 768 rollouts and no more.
    expect(late.runs.map(({ figures: own, reached }) => [own.rolloutsToThreshold, reached])).toEqual([
      [expect.closeTo(512 + 0.6 * 256, 6), true],
      [expect.closeTo(512 + 0.6 * 256, 6), true],
      [768, false],
    ]);
    expect(late.figures.rolloutsToThreshold?.mean).toBeCloseTo((2 * (512 + 0.6 * 256) + 768) / 3, 6);
  });

  test('the interval of a share is cut at 1', () => {
    const nearly: Course = { ...tuned, heldOut: (seed) => [0.9, seed === 3 ? 0.9 : 1, 1, 1] };
    const plan = comparison();
    const summed = summarize(plan, runs(plan, { tuned: nearly, random }), []);
    const { area, informative } = armOf(summed, 'tuned').figures;
    // 0.983, 0.983 and 0.95: Student's interval goes to 1.02.
    expect([area!.mean, area!.high]).toEqual([expect.closeTo(2.9167 / 3, 3), 1]);
    expect(area!.low).toBeGreaterThan(0.9);
    expect(informative).toMatchObject({ low: null, high: null });
  });

  test('residence in the band, difficulty, length and shares of tasks never and always solved', () => {
    expect(figures.residence?.mean).toBe(1);
    expect(armOf(summary(), 'random').figures.residence?.mean).toBeLessThan(1);
    expect([figures.difficultyStart?.mean, figures.difficultyEnd?.mean, figures.lengthEnd?.mean]).toEqual([
      3, 10, 20,
    ]);
    expect([
      figures.unsolvedStart?.mean,
      figures.unsolvedEnd?.mean,
      figures.solvedStart?.mean,
      figures.solvedEnd?.mean,
    ]).toEqual([0.5, 0.125, 0, 0.25]);
    expect(figures.informative?.mean).toBeCloseTo(0.9, 9);
  });
});

describe('what was written', () => {
  test('shares of tasks never and always solved stand by epoch', () => {
    const text = resultsMarkdown(summary());
    expect(text).toMatch(/^\| 1 \| 0\.500, 0\.000 \| 0\.750, 0\.000 \|$/m);
    expect(text).toMatch(/^\| 12 \| 0\.125, 0\.250 \| 0\.750, 0\.000 \|$/m);
  });

  test('shares of the kinds: the last five epochs, and the most of five on end', () => {
    const kinds = (epoch: number) =>
      epoch <= 6 ? { 'env/kind/T': 1 } : { 'env/kind/T': 0.25, 'env/kind/W': 0.75 };
    const summed = summarize(
      comparison(),
      runs(comparison(), {
        tuned: { ...tuned, metrics: (epoch) => ({ ...tuned.metrics!(epoch), ...kinds(epoch) }) },
        random,
      }),
      [],
    );
    expect(armOf(summed, 'tuned').kinds).toEqual([
      { kind: 'T', end: 0.25, most: 1 },
      { kind: 'W', end: 0.75, most: 0.75 },
    ]);
    expect(resultsMarkdown(summed)).toMatch(
      /^\| tuned \| 0\.250 \(1\.000\) \| 0\.750 \(0\.750\) \|\n\| random \| – \| – \|$/m,
    );
    expect(resultsMarkdown(summary())).not.toContain('Kinds of tasks');
  });
});

describe('equal rollouts', () => {
  // Half of what the second arm was given was no task: it made 32 rollouts an epoch.
  const summed = summarize(
    comparison(),
    runs(comparison(), { tuned, random: { ...random, heldOut: () => [0.1, 0.3, 0.5, 0.7], rollouts: 32 } }),
    [],
  );

  test('curves go by the rollouts that were made, and end where every run has come to', () => {
    expect(summed.rollouts).toBe(384);
    expect(armOf(summed, 'random').runs[0]!.curve.map(({ rollouts }) => rollouts)).toEqual([
      0, 128, 256, 384,
    ]);
    expect(armOf(summed, 'tuned').curve.map(({ rollouts }) => rollouts)).toEqual([0, 128, 256, 384]);
    // Half way from its second to its third evaluation.
    expect(armOf(summed, 'tuned').figures.finalHeldOut?.mean).toBeCloseTo((0.42 + 0.6) / 2, 9);
    expect(armOf(summed, 'random').figures).toMatchObject({
      area: { mean: expect.closeTo((0.1 / 2 + 0.3 + 0.5 + 0.7 / 2) / 3, 9) as number },
      rolloutsToThreshold: { mean: 256 },
    });
  });

  test('what was made of what was given is said', () => {
    expect(
      summed.arms.map(({ figures: { rollouts, agentSteps } }) => [rollouts?.mean, agentSteps?.mean]),
    ).toEqual([
      // Its updates within the rollouts that are compared.
      [768, 12],
      [384, 24],
    ]);
    expect(resultsMarkdown(summed)).toContain('| random | 384 | 24 | 0 |');
    expect(resultsMarkdown(summed)).toContain('are compared up to 384');
  });
});

describe('differences in a table', () => {
  const rowOf = (by: Record<number, number>, changes: Partial<Comparison> = {}): string => {
    const course = (more: (seed: number) => number): Course => ({
      ...tuned,
      metrics: () => ({}),
      heldOut: (seed) => [0.1, 0.1, 0.1, 0.4 + more(seed)],
    });
    const plan = { ...comparison(), ...changes };
    return /^\| tuned \|.*$/m.exec(
      resultsMarkdown(
        summarize(plan, runs(plan, { tuned: course((seed) => by[seed]!), random: course(() => 0) }), []),
      ).split('## Against random')[1]!,
    )![0];
  };

  test('are bold where p is below 0.05 after Holm’s correction for the tests of the table', () => {
    // Four tests: the end and the area, which is a sixth of it, have the same p; residence is alike and no seed came to
    // the threshold, so theirs is 1.
    expect(rowOf({ 1: 0.1, 2: 0.11, 3: 0.12 })).toContain('| **+0.110 [0.085, 0.135], p = 0.011** |');
    // p is 0.055 by itself.
    expect(rowOf({ 1: 0.05, 2: 0.1, 3: 0.12 })).toContain('| +0.090 [0.000, 0.180], p = 0.198 |');
  });

  test('are not corrected for those that were named beforehand, which are marked', () => {
    const primary = [{ arm: 'tuned', against: 'random', measure: 'area', margin: 0.01 }] as const;
    const row = rowOf({ 1: 0.05, 2: 0.1, 3: 0.12 }, { primary: [...primary] });
    expect(row).toContain(' (primary) |');
    expect(row).toContain('| +0.090 [0.000, 0.180], p = 0.149 |');
  });

  test('are not known where a seed did not come to the threshold', () => {
    const row = rowOf({ 1: 0.3, 2: 0.31, 3: 0.32 });
    // Every seed of one arm is ahead, and none of the other arrives.
    expect(row.split(' | ')[2]).toBe('–');
    expect(resultsMarkdown(summary())).toMatch(/^\| random \| .*≥ 700, reached by 2 of 3 seeds \|/m);
  });
});

test('arms are set against the baseline, and against the method of each preset', () => {
  const { against: all } = summary();
  expect(all.map(({ reference, rows }) => [reference, rows.map(({ arm }) => arm)])).toEqual([
    ['random', ['tuned']],
    ['tuned', ['random']],
  ]);
  expect(all[1]!.rows[0]!.differences.area!.mean).toBeCloseTo(-all[0]!.rows[0]!.differences.area!.mean, 12);
});

test('two arms that several tables compare are one test, with one p', () => {
  const { against, againstControls, tests } = summary();
  const [forwards, backwards] = against.map(({ rows }) => rows[0]!.differences.area!.adjusted);
  expect(forwards).toEqual(expect.any(Number));
  expect(backwards).toBe(forwards);
  expect(againstControls[0]!.differences.area!.adjusted).toBe(forwards);
  const tested = Object.values(against[0]!.rows[0]!.differences).filter(
    (difference) => typeof difference?.adjusted === 'number' || difference?.isCensored,
  );
  expect(tests).toBe(tested.length);
});

test('one seed is no test, whether it came to the threshold or not', () => {
  for (const threshold of [0.01, 0.99]) {
    const single = { ...comparison([1]), threshold };
    expect(summarize(single, runs(single, { tuned, random }), []).tests).toBe(0);
  }
});

test('a horizon that the file names is where runs are compared, if all came there', () => {
  expect(summary({ horizon: 300 }).rollouts).toBe(300);
  const short = summary({ horizon: 100_000 });
  expect(short.rollouts).toBe(summary().rollouts);
  expect(short.notes.join()).toContain('all are compared up to there, and not up to 100000');
});

describe('differences against the baseline', () => {
  test('are taken seed by seed: what seeds have in common cancels', () => {
    const luck = (base: number): Course => ({ ...tuned, heldOut: (seed) => [0, 0, 0, base + seed / 10] });
    const summed = summarize(comparison(), runs(comparison(), { tuned: luck(0.15), random: luck(0.1) }), []);
    const { figures } = armOf(summed, 'tuned');
    const differences = differencesFrom(summed, 'random', 'tuned')!;
    expect(differences.finalHeldOut?.mean).toBeCloseTo(0.05, 9);
    expect(differences.finalHeldOut).toMatchObject({ low: null, high: null, seeds: 3 });
    expect(figures.finalHeldOut!.high! - figures.finalHeldOut!.low!).toBeGreaterThan(0.1);
    expect(differencesFrom(summed, 'random', 'random')).toBeUndefined();
  });

  test('a single seed has no interval', () => {
    const summed = summarize(comparison([1]), runs(comparison([1]), { tuned, random }), []);
    expect(differencesFrom(summed, 'random', 'tuned')!.finalHeldOut).toMatchObject({
      low: null,
      high: null,
      p: null,
      adjusted: null,
      seeds: 1,
    });
  });
});

test('courses are means over the seeds, an epoch a value', () => {
  const { courses } = armOf(summary(), 'tuned');
  expect(courses.difficulty).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  expect([courses.unsolved[0], courses.unsolved[11], courses.solved[11]]).toEqual([0.5, 0.125, 0.25]);
});

test('guards that warn are counted by seed', () => {
  expect(armOf(summary(), 'random').warnings).toContainEqual({
    guard: 'Effective groups',
    threshold: '≥ 0.5',
    seeds: 3,
  });
  expect(armOf(summary(), 'tuned').warnings.map(({ guard }) => guard)).not.toContain('Effective groups');
});

test('runs of a seed that did not start from the same policies are not compared', () => {
  const mixed = runs(comparison(), { tuned, random }).map((run) =>
    run.arm === 'random' && run.seed === 2 ? { ...run, warm: { ...run.warm, agent: 'another' } } : run,
  );
  expect(() => summarize(comparison(), mixed, [])).toThrow(
    'comparison: tiny-comparison.random.2 and tiny-comparison.tuned.2 did not start from the same agent (another, agent-2)',
  );
});

test('a run whose settings were changed is named', () => {
  const retuned = runs(comparison(), { tuned, random }).map((run) =>
    run.id === 'tiny-comparison.tuned.1' ? { ...run, changed: [5, 6] } : run,
  );
  expect(summarize(comparison(), retuned, []).notes).toContain(
    'tiny-comparison.tuned.1 ran under changed settings in epochs 5 to 6: it is not on equal terms with the others.',
  );
});

describe('cross-play', () => {
  const cells = (rate: (simulator: number, agent: number) => number) =>
    [0, 6, 12].flatMap((agent) =>
      [0, 6, 12].map((simulator) => ({
        simulator,
        agent,
        successes: Math.round(100 * rate(simulator, agent)),
        attempts: 100,
      })),
    );

  test('falls along simulators and rises along agents where both get better', () => {
    const summed = summarize(
      comparison(),
      runs(comparison(), { tuned, random }),
      [1, 2].map((seed) => ({
        arm: 'tuned',
        seed,
        cells: cells((simulator, agent) => 0.5 + (agent - simulator) / 30 + seed / 100),
      })),
    );
    const [played] = summed.crossPlay;
    expect(played).toMatchObject({
      arm: 'tuned',
      seeds: [1, 2],
      epochs: [0, 6, 12],
      trends: { simulator: { mean: -1, seeds: 2 }, agent: { mean: 1, seeds: 2 } },
    });
    expect(played!.rates[0]![2]).toBeCloseTo(0.115, 9);
    expect(played!.rates[2]![0]).toBeCloseTo(0.915, 9);
  });

  test('has a trend of 0 where nothing differs, and no rate where a simulator wrote no task', () => {
    const [played] = summarize(comparison(), runs(comparison(), { tuned, random }), [
      {
        arm: 'tuned',
        seed: 1,
        cells: cells(() => 0.5).map((cell) =>
          cell.simulator === 6 ? { ...cell, successes: 0, attempts: 0 } : cell,
        ),
      },
    ]).crossPlay;
    expect(played!.trends).toMatchObject({ simulator: { mean: 0 }, agent: { mean: 0 } });
    expect(played!.rates[0]).toEqual([0.5, null, 0.5]);
  });
});

describe('results.md', () => {
  const text = resultsMarkdown(summary());

  test('has a row for each arm, how many seeds count, and bold differences where the interval leaves 0 out', () => {
    expect(text).toMatch(/^\| tuned \| 0\.490 \[[^|]+\| [^|]+\| 0\.800 \(all seeds alike\) \| 1\.000/m);
    expect(text).toMatch(/^\| random \| .*reached by 2 of 3 seeds/m);
    expect(text).toMatch(/^\| tuned \| \*\*\+0\.2\d\d \[/m);
    expect(text).toContain('There are 3 seeds: an exact test over them cannot have p below 0.25');
    expect(text).toContain('No comparison was named beforehand');
  });

  test('sets the paper’s figures beside ours', () => {
    expect(text).toContain(
      '| success on simulated tasks, first epoch to the end (figures 4d, 5c, 7); ours: of whole runs | 0.138 to 0.524 | 0.500 to 0.500 |',
    );
    expect(text).toContain('| 137 to 204 (+49 %) | 2 to 20 (+900.0 %) |');
    // 0.8 against a mean of 0.617; 12.5 % of tasks never solved against 75 %.
    expect(text).toContain('| +12.3 % | +29.7 % |');
    expect(text).toContain('| −20.3 % | −62.5 % |');
  });

  test('is the same text every time, tables whole', () => {
    expect(resultsMarkdown(summary())).toBe(text);
    for (const block of text.split('\n\n').filter((part) => part.startsWith('|')))
      expect(
        new Set(
          block
            .trim()
            .split('\n')
            .map((row) => row.split(' | ').length),
        ).size,
      ).toBe(1);
  });
});
