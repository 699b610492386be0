import { describe, expect, test } from 'vitest';
import { seedCharts } from '../../src/comparison/axes-charts.ts';
import { curveOverTime, summarizeAxes } from '../../src/comparison/axes.ts';
import { curvesSvg } from '../../src/comparison/curves-svg.ts';
import { armCostsMarkdown } from '../../src/comparison/costs.ts';
import { curriculumCharts } from '../../src/comparison/curriculum-charts.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { heldOutCurve, measureRun } from '../../src/comparison/run-metrics.ts';
import { summarize } from '../../src/comparison/summary.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

const plan = comparison();
const cap = plan.arms.tuned!.environment.training!.maxKl!;
/** Writes 100 texts an epoch and updates its simulator twice. */
const trains: Course = {
  heldOut: (seed) => [0.1, 0.4 + seed / 100, 0.6, 0.8],
  success: () => 0.5,
  metrics: (epoch) => ({
    'env/generated': 100,
    num_tokens: 1_000 * epoch,
    'env/steps': 2,
    'env/calibration_error': 0.4 - epoch / 40,
    'env/kl_capped': epoch > 9 ? 1 : 0,
    'env/kl': (epoch / 12) * cap,
    'env/step_share': epoch % 2 === 0 ? 1 : 0.5,
    'env/rate_tenths/4': 5,
    'env/rate_tenths_kept/4': 4,
    'env/rate_tenths/9': 2,
  }),
};
/** Writes half as many, and never updates it. */
const frozen: Course = {
  ...trains,
  success: () => 0.1,
  metrics: (epoch) => ({ 'env/generated': 50, num_tokens: 800 * epoch, 'env/steps': 0 }),
};
const records = runs(plan, { tuned: trains, random: frozen });
const summed = summarize(plan, records, []);

describe('axes other than rollouts', () => {
  test('have curves, and areas of two arms up to the least that any run of either used', () => {
    const axes = summarizeAxes(['tuned', 'random'], 'random', records);
    expect(axes.map(({ name, reference }) => [name, reference])).toEqual([
      ['generated', 'random'],
      ['tokens', 'random'],
      ['agentSteps', 'random'],
      // The baseline never updates its simulator.
      ['environmentSteps', 'tuned'],
    ]);
    const [generated, tokens, , steps] = axes;
    expect(generated!.arms[0]!.runs[0]!.curve.map(({ used }) => used)).toEqual([0, 400, 800, 1200]);
    // Of 0.1, 0.42 at 400 and 0.6 at 800: trapezoids to 600, where it has 0.51.
    const area = (400 * 0.26 + 200 * 0.465) / 600;
    const randomArea = (0.5 * 0.1 + 0.42 + 0.6 + 0.5 * 0.8) / 3;
    expect(generated!.arms[0]!.upTo).toBe(600);
    expect(generated!.arms[0]!.difference?.mean).toBeCloseTo(area - randomArea, 9);
    expect(tokens!.arms[0]!.upTo).toBe(9_600);
    // At 9,600 of its 12,000 tokens it has 0.68.
    const tokensArea = (4_000 * 0.26 + 4_000 * 0.51 + 1_600 * 0.64) / 9_600;
    expect(tokens!.arms[0]!.difference?.mean).toBeCloseTo(tokensArea - randomArea, 9);
    // Nor has it an area against the one that does: its curve is a point.
    expect(steps!.arms[1]).toMatchObject({
      upTo: null,
      difference: null,
      runs: [{ curve: [{ used: 0, score: 0.8 }] }, {}, {}],
    });
  });

  test('begin with nothing used: what a data set took before the first epoch is paid for', () => {
    const trained = records.filter(({ arm }) => arm === 'tuned');
    const written = trained.map((run) => ({
      ...run,
      experiment: { ...run.experiment, arm: { type: 'static' as const, variations: 4 } },
      rows: run.rows.map((row) => ({
        ...row,
        metrics: {
          ...row.metrics,
          'env/generated': 0,
          num_tokens: 600 + 1_000 * row.epoch,
        },
      })),
    }));
    const both = [...written.map((run) => ({ ...run, arm: 'static' })), ...records];
    const [generated, tokens] = summarizeAxes(['static', 'random'], 'random', both);
    expect(generated!.arms[0]).toMatchObject({ upTo: null, difference: null });
    expect(tokens!.arms[0]!.runs[0]!.curve.map(({ used }) => used)).toEqual([600, 4_600, 8_600, 12_600]);
    // 0.1 to 600 tokens, then trapezoids to 9,600, where it has 0.65.
    const area = (600 * 0.1 + 4_000 * 0.26 + 4_000 * 0.51 + 1_000 * 0.625) / 9_600;
    const randomArea = (0.5 * 0.1 + 0.42 + 0.6 + 0.5 * 0.8) / 3;
    expect(tokens!.arms[0]!.upTo).toBe(9_600);
    expect(tokens!.arms[0]!.difference?.mean).toBeCloseTo(area - randomArea, 9);
  });

  test('an arm that uses little does not change how two others are compared', () => {
    const three = ['tuned', 'random', 'scant'];
    const little = records.flatMap((run) =>
      run.arm === 'tuned'
        ? [
            {
              ...run,
              arm: 'scant',
              rows: run.rows.map((row) => ({ ...row, metrics: { ...row.metrics, 'env/generated': 1 } })),
            },
          ]
        : [],
    );
    const [generated] = summarizeAxes(three, 'random', [...records, ...little]);
    expect(generated!.arms.map(({ upTo }) => upTo)).toEqual([600, null, 13]);
  });

  test('do not count the tokens of attempts that chose the tasks of a bin, which are outside the budget', () => {
    const binned = records.map((run) => ({
      ...run,
      experiment: {
        ...run.experiment,
        arm: { type: 'success-bin' as const, target: 0.5, candidates: 64, attempts: 8, tasks: 8 },
      },
      rows: run.rows.map((row) => ({
        ...row,
        metrics: { ...row.metrics, num_tokens: 50_000 + 1_000 * row.epoch },
      })),
    }));
    const tokens = summarizeAxes(['tuned'], 'tuned', binned).find(({ name }) => name === 'tokens')!;
    expect(tokens.arms[0]!.runs[0]!.curve.map(({ used }) => used)).toEqual([0, 4_000, 8_000, 12_000]);
  });

  test('go by the probability of the reference answers where it was measured, and no exact success', () => {
    const withAnswers = records.map((run) => ({
      ...run,
      rows: run.rows.map((row) =>
        typeof row.metrics['eval/heldout'] === 'number'
          ? { ...row, metrics: { ...row.metrics, 'eval/heldout_answer_probability': 0.75 } }
          : row,
      ),
    }));
    expect(heldOutCurve(withAnswers[0]!).every(({ score }) => score === 0.75)).toBe(true);
    for (const axis of summarizeAxes(['tuned'], 'tuned', withAnswers))
      expect(axis.arms[0]!.runs[0]!.curve.every(({ score }) => score === 0.75)).toBe(true);
    expect(summarize(plan, withAnswers, []).notes).toContainEqual(
      expect.stringContaining('mean probability of the reference answers'),
    );
  });

  test('go by the exact held-out success where it was measured, as the curve over rollouts does', () => {
    const exact = records.map((run) => ({
      ...run,
      rows: run.rows.map((row) =>
        'eval/heldout' in row.metrics
          ? { ...row, metrics: { ...row.metrics, 'eval/heldout_probability': 0.25 } }
          : row,
      ),
    }));
    for (const axis of summarizeAxes(['tuned'], 'tuned', exact))
      expect(axis.arms[0]!.runs[0]!.curve.map(({ score }) => score)).toEqual([0.25, 0.25, 0.25, 0.25]);
  });

  test('are there if the runs have counted them', () => {
    const uncounted = { ...trains, metrics: () => ({}) };
    const plain = summarize(plan, runs(plan, { tuned: uncounted, random: uncounted }), []);
    expect(plain.axes.map(({ name }) => name)).toEqual(['agentSteps']);
    expect(resultsMarkdown(plain)).toContain('| arm | updates of the agent: minus random |');
    const text = resultsMarkdown(summed);
    expect(text).toContain(
      '| arm | texts that the simulator wrote: minus random | tokens sampled: minus random | updates of the agent: ' +
        'minus random | updates of the simulator: minus tuned |',
    );
    expect(text).toMatch(/^\| tuned \| −0\.1\d\d \[.*\], up to 600 \| .*, up to 24 \| – \|$/m);
  });

  test('are drawn for the documents too: a thin line for each seed, and a thick one for their mean as far as all go', () => {
    const figure = curvesSvg(summed);
    const panels = figure.split('<g ').slice(1);
    expect(panels.map((panel) => />held-out success by ([^<]*)</.exec(panel)?.[1])).toEqual([
      'rollouts of the agent',
      'texts that the simulator wrote',
      'tokens sampled',
      'updates of the agent',
      'updates of the simulator',
    ]);
    const lines = (panel: string, width: string): number => panel.split(`stroke-width="${width}"`).length - 1;
    expect(panels.map((panel) => lines(panel, '0.8'))).toEqual([6, 6, 6, 6, 6]);
    // The baseline has no curve along the updates of a simulator that it never updates.
    expect(panels.map((panel) => lines(panel, '2.2'))).toEqual([2, 2, 2, 2, 1]);
    expect(figure).not.toMatch(/NaN|Infinity|undefined/);
    const nothing: Course = { ...trains, heldOut: () => [0, 0, 0, 0] };
    const flat = summarize(plan, runs(plan, { tuned: nothing, random: nothing }), []);
    expect(curvesSvg(flat)).not.toMatch(/NaN|Infinity|undefined/);
  });

  test('are drawn with a line for each seed', () => {
    const charts = seedCharts(summed);
    expect(charts.map(({ id }) => id)).toEqual([
      'seeds-rollouts',
      'seeds-generated',
      'seeds-tokens',
      'seeds-agentSteps',
      'seeds-environmentSteps',
    ]);
    expect(charts[1]!.option.series).toHaveLength(6);
    expect(charts[1]!.option.series).toMatchObject([
      {
        name: 'tuned',
        data: [
          [0, 0.1],
          [400, 0.41],
          [800, 0.6],
          [1200, 0.8],
        ],
      },
      {},
      {},
      {},
      {},
      {},
    ]);
  });

  test('hours stand among the costs, where they differ from machine to machine', () => {
    const timed = records.map(({ rows, arm }) =>
      curveOverTime(rows.map((row) => ({ ...row, time: { all: arm === 'tuned' ? 7_200 : 3_600 } }))),
    );
    const text = armCostsMarkdown('some', [
      { arm: 'tuned', runs: 3, epochs: [], curves: timed.filter((_, index) => index % 2 === 0) },
      { arm: 'random', runs: 3, epochs: [], curves: timed.filter((_, index) => index % 2 === 1) },
    ]);
    expect(text).toContain('in the first 13.00 hours of phases');
    expect(text).toMatch(/^\| tuned \| 0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] \| 26 \|$/m);
    expect(curveOverTime(records[0]!.rows)).toEqual([]);
    expect(resultsMarkdown(summed)).not.toContain('hours of phases');
  });
});

describe('what kept simulators from α', () => {
  const text = resultsMarkdown(summed);

  test('is said by arm: distance from α, caps, and held-out tasks among the written', () => {
    expect(text).toContain(
      '| arm | epoch in which success entered the band (5-epoch mean) | \\|p̂ − α\\| of new tasks, first 5 epochs | ' +
        '\\|p̂ − α\\| of new tasks, last 5 epochs | epochs with the KL of the simulator at its cap | ' +
        'epochs with an update of the simulator in which the cap on its KL acted | epochs with an update of the ' +
        'simulator in which the cap on a step acted | share of a step that the cap on a step left |',
    );
    expect(text).toContain(
      '| tuned | 5 (all seeds alike) | 0.325 (all seeds alike) | 0.150 (all seeds alike) | 0.167 (all seeds alike) | ' +
        '0.250 (all seeds alike) | 0.500 (all seeds alike) | 0.750 (all seeds alike) |',
    );
    expect(text).toContain('| random | never | – | – | – | – | – | – |');
  });

  test('says nothing of a cap that an arm does not have', () => {
    const { environment, ...rest } = plan.arms.tuned!;
    const uncapped = {
      ...rest,
      environment: { ...environment, training: { ...environment.training!, maxKl: null } },
    };
    const { metrics } = records[0]!.rows[3]!;
    expect(metrics['env/kl_capped']).toBe(0);
    const measured = measureRun({ ...records[0]!, experiment: uncapped }, { threshold: 0.5, rollouts: 768 });
    expect(measured).toMatchObject({
      simulatorKlCapped: null,
      simulatorKlAtCap: null,
      simulatorStepShare: 0.75,
    });
  });

  test('and drawn by epoch: distance from α, and the KL over its cap', () => {
    const { courses } = summed.arms[0]!;
    expect(courses.calibration[3]).toBeCloseTo(0.3, 9);
    expect(courses.simulatorKlOfCap[5]).toBeCloseTo(0.5, 9);
    const charts = curriculumCharts(summed).map(({ id }) => id);
    expect(charts).toEqual(expect.arrayContaining(['calibration', 'kl-of-cap']));
    // Of a frozen simulator nothing is drawn.
    expect(summed.arms[1]!.courses.simulatorKlOfCap.every((share) => share === null)).toBe(true);
  });

  test('and what the filter keeps, by tenth of p̂', () => {
    expect(text).toMatch(
      /^\| tuned \| – \| – \| – \| – \| 0\.800 of 180 \| – \| – \| – \| – \| 0\.000 of 72 \|$/m,
    );
  });
});
