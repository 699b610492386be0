import { describe, expect, test } from 'vitest';
import { hasSign } from '../../src/comparison/claim-rules.ts';
import type { ProbedAgent } from '../../src/comparison/probes.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { estimateOverSeeds } from '../../src/comparison/seed-estimates.ts';
import { summarize } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { Comparison } from '../../src/config/comparison.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { CrossPlayRecord } from '../../src/types/comparison-inputs.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

const random = { arm: { type: 'random' }, environment: { training: null } };
const compared = (arms: Record<string, unknown>, seeds = [1, 2, 3, 4, 5, 6]): Comparison =>
  parseComparison(
    tinyComparison({
      crossPlay: null,
      probes: null,
      seeds,
      arms,
      baseline: Object.keys(arms)[0],
      experiment: tinyExperiment({ epochs: 12, evaluation: { every: 4 } }),
    }),
  );
const histogram = (unsolved: number, solved: number) => ({
  'env/success_rate_hist/0': unsolved,
  'env/success_rate_hist/1': 0,
  'env/success_rate_hist/2': 10,
  'env/success_rate_hist/3': 0,
  'env/success_rate_hist/4': solved,
});
/** Learns from tasks that it finds half of the time, ever harder ones. */
const learns: Course = {
  heldOut: (seed) => [0.1, 0.4 + seed / 100, 0.6, 0.8],
  success: () => 0.5,
  metrics: (epoch) => ({
    'env/difficulty': epoch,
    'completions/correct_mean_length': 2 * epoch,
    ...histogram(1, 4),
  }),
};
/** Learns late, from tasks that are too hard at first. */
const lags: Course = {
  heldOut: (seed) => [0.1, 0.1, 0.2, 0.5 + seed / 100],
  success: (epoch) => epoch / 20,
  metrics: () => ({ 'env/difficulty': 3, 'completions/correct_mean_length': 5, ...histogram(12, 1) }),
};
/** Whose answers lengthen as those of `learns` do. */
const lengthens: Course = {
  ...lags,
  metrics: (epoch) => ({ ...lags.metrics!(epoch), 'completions/correct_mean_length': 2 * epoch }),
};
const judged = ({ claims }: Summary, words: string, by = 'tuned') =>
  claims.find(({ arm }) => arm === by)!.rows.find(({ claim }) => claim.includes(words)) ??
  expect.fail(`no claim with "${words}"`);
const summary = (
  courses: Record<string, Course>,
  more: { crossPlay?: CrossPlayRecord[]; probed?: ProbedAgent[]; seeds?: number[] } = {},
): Summary => {
  const plan = compared({ tuned: {}, random, static: { ...random, arm: { type: 'static' } } }, more.seeds);
  return summarize(plan, runs(plan, courses), more.crossPlay ?? [], more.probed);
};
const all = (tuned: Course): Record<string, Course> => ({ tuned, random: lags, static: lags });

describe('what the runs show', () => {
  const held = summary(all(learns));

  test.each([
    'success settles',
    'a curriculum emerges',
    'learns faster than Random',
    'learns faster than Static',
    'fewer tasks that always fail',
  ])('%s: held where it is so under every seed', (words) => {
    expect(judged(held, words).verdict).toBe('held');
  });

  test('is judged by the first arm in which both policies learn, and says the figures', () => {
    expect(held.claims.map(({ arm }) => arm)).toEqual(['tuned']);
    expect(judged(held, 'success settles').ours).toBe(
      'in the band 1.000 (all seeds alike); frozen simulator (random) 0.500 (all seeds alike)',
    );
    expect(judged(held, 'a curriculum emerges').ours).toBe(
      'since entering the band: difficulty +7 (all seeds alike), tokens of correct answers +14 (all seeds alike); ' +
        'tokens over the run (tuned) +14 (all seeds alike); tokens over the run (random) 0 (all seeds alike)',
    );
    expect(judged(held, 'fewer tasks').ours).toBe(
      'never solved −0.455 (all seeds alike), always solved +0.223 (all seeds alike)',
    );
  });

  test.each<[string, Partial<Course>]>([
    ['success settles', { success: (epoch) => (epoch < 8 ? 0.5 : 0.9) }],
    [
      'a curriculum emerges',
      { metrics: () => ({ 'env/difficulty': 3, 'completions/correct_mean_length': 5 }) },
    ],
    // Longer answers alone are no curriculum.
    [
      'a curriculum emerges',
      { metrics: (epoch) => ({ 'env/difficulty': 3, 'completions/correct_mean_length': epoch }) },
    ],
    ['learns faster than Random', lags],
    ['fewer tasks that always fail', { metrics: () => histogram(1, 0) }],
  ])('%s: not held where it is not', (words, change) => {
    expect(judged(summary(all({ ...learns, ...change })), words).verdict).toBe('not held');
  });

  test('longer answers are no curriculum if those of a frozen simulator lengthen as much', () => {
    const summed = summary({ ...all(learns), random: lengthens });
    expect(judged(summed, 'a curriculum emerges').verdict).toBe('not held');
  });

  test('of the frozen agent’s simulator it is said whether the cap of its KL bound', () => {
    const plan = compared({ tuned: {}, random, 'frozen-agent': { agent: { training: null } } });
    const cap = plan.arms['frozen-agent']!.environment.training!.maxKl!;
    const textAt = (kl: (epoch: number) => number) =>
      judged(
        summarize(
          plan,
          runs(plan, {
            tuned: learns,
            random: lags,
            'frozen-agent': { ...lags, metrics: (epoch) => ({ 'env/kl': kl(epoch) }) },
          }),
          [],
        ),
        'success settles',
      ).ours;
    expect(textAt((epoch) => (epoch > 6 ? 0.95 * cap : 0))).toMatch(
      /its simulator’s KL is at 90 % of its cap or more in 50 % of epochs, so that it may not be free to reach the band$/,
    );
    expect(textAt(() => 0.8 * cap)).toMatch(
      /its simulator’s KL is at 90 % of its cap or more in 0 % of epochs$/,
    );
  });

  test('what the interval leaves open is undecided', () => {
    // Better under five seeds, worse under the third: the interval has 0 in it.
    const uneven: Course = {
      ...learns,
      heldOut: (seed) => (seed === 3 ? [0.1, 0.1, 0.1, 0.1] : [0.1, 0.2, 0.3, 0.6]),
    };
    expect(judged(summary(all(uneven)), 'learns faster than Static').verdict).toBe('undecided');
    // Five seeds that are all alike could be so by chance.
    const five = summary(all(learns), { seeds: [1, 2, 3, 4, 5] });
    expect(judged(five, 'success settles').verdict).toBe('undecided');
  });

  test('a sign without an interval is a direction only', () => {
    const five = summary(all(learns), { seeds: [1, 2, 3, 4, 5] });
    expect(judged(five, 'fewer tasks that always fail').verdict).toBe('direction only');
  });

  test('a mean of the wrong sign, whose interval has 0 in it, refutes nothing', () => {
    const checked = (...values: number[]) => hasSign(estimateOverSeeds(values), 1);
    expect(checked(-0.3, 0.2, 0.02)).toBe('undecided');
    expect(checked(-0.2, 0.3, -0.02)).toBe('direction only');
    expect(checked(-0.3, -0.31, -0.32)).toBe(false);
    expect(checked(0.3, 0.31, 0.32)).toBe(true);
  });

  test('beside the band stands the frozen agent, whose simulator may be calibrated and teach nothing', () => {
    const plan = compared({ tuned: {}, random, 'frozen-agent': { agent: { training: null } } });
    const summed = summarize(
      plan,
      runs(plan, { tuned: learns, random: lags, 'frozen-agent': { ...lags, success: () => 0.5 } }),
      [],
    );
    expect(judged(summed, 'success settles').ours).toMatch(
      /; frozen agent \(frozen-agent\), which learns nothing, 1\.000 \(all seeds alike\)$/,
    );
  });

  test('an interval that one seed cannot have, and an arm that is not there, are not measured', () => {
    const single = summary(all(learns), { seeds: [1] });
    for (const words of ['success settles', 'a curriculum emerges', 'learns faster than Random'])
      expect(judged(single, words).verdict).toBe('not measured');
    const alone = compared({ tuned: {} });
    expect(
      judged(summarize(alone, runs(alone, { tuned: learns }), []), 'learns faster than Random'),
    ).toMatchObject({ ours: 'no arm random with the same agent', verdict: 'not measured' });
    const frozen = compared({ random });
    expect(summarize(frozen, runs(frozen, { random: lags }), []).claims).toEqual([]);
  });
});

describe('presets', () => {
  const paper = {
    arm: { type: 'genenv', preset: 'paper' },
    pools: { train: { mix: { base: 0, history: 0, new: 1 } } },
  };
  const plan = compared({
    tuned: {},
    again: {},
    paper,
    frozen: { ...paper, environment: { training: null } },
    random,
  });
  const summed = summarize(
    plan,
    runs(plan, { tuned: learns, again: learns, paper: learns, frozen: learns, random: lags }),
    [],
  );

  test('are judged each by its first arm, against the frozen simulator whose agent is trained in the same way', () => {
    expect(summed.claims.map(({ arm }) => arm)).toEqual(['tuned', 'paper']);
    expect(summed.arms.map(({ arm, control }) => [arm, control])).toEqual([
      ['tuned', 'random'],
      ['again', 'random'],
      ['paper', 'frozen'],
      ['frozen', null],
      ['random', null],
    ]);
    expect(judged(summed, 'learns faster than Random')).toMatchObject({
      verdict: 'held',
      ours: expect.stringMatching(/^area \+/) as string,
    });
    expect(judged(summed, 'learns faster than Random', 'paper')).toMatchObject({
      verdict: 'not held',
      ours: expect.stringMatching(/^frozen: area 0\.000 /) as string,
    });
  });

  test('are measured against controls alone whose agent has the same settings', () => {
    expect(
      summed.againstControls.map(({ arm, reference, differences }) => [
        arm,
        reference,
        differences.area!.mean > 0,
      ]),
    ).toEqual([
      ['tuned', 'random', true],
      ['again', 'random', true],
      ['paper', 'frozen', false],
    ]);
    expect(resultsMarkdown(summed)).toMatch(/^\| paper \| frozen \| 0\.000 \(all seeds alike\)/m);
    const fixed = compared({ paper, static: { ...random, arm: { type: 'static' } } });
    const fasterThanStatic = judged(
      summarize(fixed, runs(fixed, { paper: learns, static: lags }), []),
      'learns faster than Static',
      'paper',
    );
    expect(fasterThanStatic).toMatchObject({
      verdict: 'not measured',
      ours: expect.stringMatching(
        /^static, whose agent is trained in another way: area \*?\*?\+0\./,
      ) as string,
    });
  });

  test('that are told how hard tasks are, are named', () => {
    const privileged = compared({
      selection: { ...random, arm: { type: 'selection' } },
      text: { ...random, arm: { type: 'selection', predictor: 'text' } },
    });
    const { notes } = summarize(privileged, runs(privileged, { selection: learns, text: learns }), []);
    expect(notes.filter((note) => note.includes('is told'))).toEqual([
      'selection is told how hard each task is: that favours it over arms whose simulator has to find it out.',
    ]);
  });

  test('that train the agent in another way are named', () => {
    expect(summed.notes.filter((note) => note.includes('otherwise'))).toEqual([
      expect.stringMatching(
        /^paper and frozen train their agents otherwise than tuned \(.*agent\.training\.scaleByStd: was false, is true/,
      ),
    ]);
  });
});

describe('what policies of finished runs show', () => {
  const cells = (rate: (simulator: number, agent: number) => number) =>
    [0, 6, 12].flatMap((agent) =>
      [0, 6, 12].map((simulator) => ({
        simulator,
        agent,
        successes: Math.round(1000 * rate(simulator, agent)),
        attempts: 1000,
      })),
    );
  const played = (rate: (simulator: number, agent: number) => number, arm = 'tuned') =>
    [1, 2, 3, 4, 5, 6].map((seed) => ({
      arm,
      seed,
      cells: cells((simulator, agent) => rate(simulator, agent) + seed / 1000),
    }));

  test('cross-play: held where both trends leave 0 out', () => {
    const claim = (rate: (simulator: number, agent: number) => number) =>
      judged(summary(all(learns), { crossPlay: played(rate) }), 'both sides move').verdict;
    expect(claim((simulator, agent) => 0.5 + (agent - simulator) / 30)).toBe('held');
    // The tasks of all simulators are as hard.
    expect(claim((_, agent) => 0.1 + agent / 30)).toBe('not held');
    expect(claim((simulator, agent) => 0.1 + (agent + simulator) / 60)).toBe('not held');
    expect(judged(summary(all(learns)), 'both sides move').verdict).toBe('not measured');
  });

  test('retention: best earlier agent minus the last on each epoch’s tasks, judged where the pool is replayed', () => {
    const plan = compared({
      tuned: {},
      replay: {
        environment: { promptsPerEpoch: 2 },
        pools: { train: { mix: { base: 0, history: 1, new: 1 } } },
      },
    });
    const rates: Record<number, number[]> = { 0: [0.4, 0.2], 6: [0.8, 0.5], 12: [0.6, 0.55] };
    // Agents 0, 6 and 12 on the tasks of simulators 0 and 6: 0.8 to 0.6 is lost, and −0.05.
    const forgets = (simulator: number, agent: number): number => rates[agent]![simulator === 0 ? 0 : 1]!;
    const keeps = (_: number, agent: number): number => 0.1 + agent / 30;
    const summed = (replay: typeof keeps) =>
      summarize(plan, runs(plan, { tuned: learns, replay: learns }), [
        ...played(forgets),
        ...played(replay, 'replay'),
      ]);
    const [tuned] = summed(keeps).crossPlay;
    expect(tuned!.retention.forgetting?.mean).toBeCloseTo((0.2 - 0.05) / 2, 9);
    expect(
      tuned!.retention.epochs.map(({ epoch, then, best, end }) => [
        epoch,
        ...[then, best, end].map((rate) => Number(rate!.toFixed(3))),
      ]),
    ).toEqual([
      [0, 0.403, 0.803, 0.603],
      [6, 0.503, 0.503, 0.553],
    ]);
    expect(judged(summed(keeps), 'with replay')).toMatchObject({
      verdict: 'held',
      ours: expect.stringMatching(
        /^forgetting with replay: replay −0\.200 .*; without: tuned 0\.075 /,
      ) as string,
    });
    expect(judged(summed(forgets), 'with replay').verdict).toBe('not held');
    // Where nothing is lost without replay, it has nothing to keep.
    const kept = summarize(plan, runs(plan, { tuned: learns, replay: learns }), [
      ...played(keeps),
      ...played(keeps, 'replay'),
    ]);
    expect(judged(kept, 'with replay')).toMatchObject({
      verdict: 'not measured',
      ours: expect.stringContaining('nothing puts replay to the test') as string,
    });
    expect(judged(summary(all(learns), { crossPlay: played(forgets) }), 'with replay').verdict).toBe(
      'not measured',
    );
  });

  const stream = randomStream(5);
  const rates = Array.from({ length: 40 }, (_, i) => (i + 0.5) / 40);
  const attempts = rates.map((p) => Array.from({ length: 128 }, () => stream.next() < p));
  const probed = (norm: (p: number) => number): ProbedAgent[] =>
    [1, 2].map((seed) => ({
      arm: 'tuned',
      seed,
      epoch: 6,
      attempts,
      signal: rates.map((p) => ({ p, norm: seed * norm(p), score: seed, tokens: 9 })),
    }));

  test('gradients: held where they follow p(1-p) and are largest in the middle', () => {
    const claim = (norm: (p: number) => number) =>
      judged(summary(all(learns), { probed: probed(norm) }), 'gradient signal');
    expect(claim((p) => p * (1 - p))).toMatchObject({
      verdict: 'held',
      ours: expect.stringMatching(
        /^R² 1\.000 \[1\.000, 1\.000\] .*, largest in \[0\.[45], 0\.[56]\], and within \[0\.4, 0\.6\] in 100 % of/,
      ) as string,
    });
    expect(claim((p) => 1 + p / 100).verdict).toBe('not held');
    // A good fit with its largest bin elsewhere, in most resamples.
    expect(claim((p) => p * (1 - p) * (1.5 - p))).toMatchObject({
      verdict: 'undecided',
      ours: expect.stringMatching(/^R² 0\.8\d+ .*, largest in \[0\.3, 0\.4\], /) as string,
    });
    expect(claim((p) => p * (1 - p) * (0.5 + p))).toMatchObject({
      verdict: 'undecided',
      ours: expect.stringMatching(/^R² 0\.8\d+ .*, largest in \[0\.6, 0\.7\], /) as string,
    });
    expect(
      judged(
        summary(all(learns), { probed: probed(() => 1).map((agent) => ({ ...agent, signal: null })) }),
        'gradient signal',
      ).verdict,
    ).toBe('not measured');
  });

  test('ranking: held where mis-ranking falls within the range of the binomials', () => {
    expect(judged(summary(all(learns), { probed: probed(() => 1) }), 'rank tasks').verdict).toBe('held');
    // Each draw stands for four attempts: they rank better with n, but not as binomials.
    const bursts = rates.map((p) =>
      Array.from({ length: 32 }, () => stream.next() < p).flatMap((solved) =>
        new Array<boolean>(4).fill(solved),
      ),
    );
    expect(
      judged(
        summary(all(learns), { probed: probed(() => 1).map((agent) => ({ ...agent, attempts: bursts })) }),
        'rank tasks',
      ).verdict,
    ).toBe('not held');
    expect(judged(summary(all(learns)), 'rank tasks').verdict).toBe('not measured');
    // A task that is solved half of the time and one that never is are ranked without fault, whatever n.
    const sure = [1, 0].map((p) => Array.from({ length: 128 }, (_, index) => p === 1 && index % 2 === 0));
    expect(
      judged(
        summary(all(learns), { probed: probed(() => 1).map((agent) => ({ ...agent, attempts: sure })) }),
        'rank tasks',
      ).verdict,
    ).toBe('held');
  });

  test('results.md has a table for each, whole ones', () => {
    const text = resultsMarkdown(
      summary(all(learns), {
        probed: probed((p) => p * (1 - p)),
        crossPlay: played((simulator, agent) => 0.5 + (agent - simulator) / 30),
      }),
    );
    for (const heading of ['## Claims', '## Cross-play', '## Retention', '## Gradient signal', '## Ranking'])
      expect(text).toContain(heading);
    expect(text).toMatch(/^\| learns faster than Random .* \| \*\*held\*\* \|$/m);
    expect(text).toMatch(/^\| 0\.4 to 0\.5 \| 8 \| 0\.247 \| 0\.247 \| 0\.247 \| 1\.000 \| 9 \|$/m);
    for (const block of text.split('\n\n').filter((part) => part.startsWith('|')))
      expect(
        new Set(
          block
            .trim()
            .split('\n')
            .map((row) => row.split(' | ').length),
        ).size,
        block,
      ).toBe(1);
  });
});

describe('single settings of the method', () => {
  const alpha = (value: number) => ({ difficulty: { alpha: value } });
  const scores = (end: number): Course => ({
    ...learns,
    heldOut: (seed) => [0.1, 0.2, 0.3, end + seed / 100],
  });

  test('α: held where 0.5 has the largest area, and more than both ends', () => {
    const plan = compared({ tuned: {}, low: alpha(0.2), middle: alpha(0.35), high: alpha(0.8) });
    const claim = (low: number, middle: number) =>
      judged(
        summarize(
          plan,
          runs(plan, { tuned: scores(0.8), low: scores(low), middle: scores(middle), high: scores(0.3) }),
          [],
        ),
        'α = 0.5',
      );
    expect(claim(0.4, 0.7)).toMatchObject({
      verdict: 'held',
      ours: expect.stringMatching(/^α 0\.2: .*; α 0\.35: .*; α 0\.5: .*; α 0\.8: /) as string,
    });
    expect(claim(0.4, 0.9).verdict).toBe('not held');
    expect(claim(0.8, 0.7).verdict).toBe('not held');
  });

  test('filter and weights: held where both together have more than either alone', () => {
    const claim = (both: number, kMin: number) => {
      const filter = { filter: { type: 'threshold', kMin } };
      const plan = compared({
        tuned: {},
        filter: { ...filter, environment: { training: { lambda: 0 } } },
        both: filter,
      });
      return judged(
        summarize(plan, runs(plan, { tuned: scores(0.5), filter: scores(0.4), both: scores(both) }), []),
        'filter and the weights',
      );
    };
    expect(claim(0.8, 0.3).verdict).toBe('held');
    expect(claim(0.45, 0.3).verdict).toBe('not held');
    // Tasks that are solved half of the time, and no others: their rewards are alike.
    expect(claim(0.8, 0.1).verdict).toBe('not measured');
  });
});
