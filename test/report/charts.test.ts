import { beforeAll, describe, expect, it } from 'vitest';
import type { Experiment } from '../../src/config/experiment.ts';
import { range } from '../../src/numerics/arithmetic.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { chartsOf } from '../../src/report/charts/charts.ts';
import type { Charts } from '../../src/report/charts/charts.ts';
import type { Chart } from '../../src/report/charts/options.ts';
import { trailingMean } from '../../src/report/findings.ts';
import { guards } from '../../src/report/guards.ts';
import type { EpochRow } from '../../src/report/run-data.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldSettings } from '../../src/worlds/settings.ts';
import { makeEpoch } from './make-epoch.ts';
import { metricsOf } from './make-metrics.ts';
import { someExperiment } from './make-run.ts';

const experiment = someExperiment(6);
let rows: EpochRow[] = [];
let charts: Charts;

beforeAll(() => {
  const world = createWorld(experiment.world);
  const random = randomStream(5);
  rows = [1, 2, 3, 4, 5, 6].map((epoch) => ({
    epoch,
    time: { generate: 1, rollOut: 2, epoch: 3.5 },
    at: null,
    notes: [],
    outputs: {},
    metrics: metricsOf(
      makeEpoch(world, experiment, { epoch, agent: 0.85, frozen: 0.7, length: 5 }, random),
      epoch,
      8,
    ),
  }));
  charts = chartsOf(rows, [], experiment);
});

type Drawn = {
  name: string;
  type: string;
  data: (number | null)[];
  stack?: string;
  markArea?: { data: { yAxis: number }[][] };
};
const all = (): Chart[] => Object.values(charts).flat() as Chart[];
const chart = (id: string): Chart =>
  all().find((candidate) => candidate.id === id) ?? expect.fail(`no chart ${id}`);
const seriesOf = (id: string): Drawn[] => chart(id).option.series as Drawn[];
const named = (id: string, name: string): Drawn =>
  seriesOf(id).find((drawn) => drawn.name === name) ?? expect.fail(`${id} has no series ${name}`);

it('shows success with the band shaded, each epoch and the 5-epoch mean', () => {
  const rates = rows.map(({ metrics }) => metrics['env/success_rate'] ?? null);
  expect(named('success-rate', 'epoch').data).toEqual(rates);
  expect(named('success-rate', '5-epoch mean').data).toEqual(trailingMean(rates));
  expect(named('success-rate', '5-epoch mean').markArea?.data[0]?.map(({ yAxis }) => yAxis)).toEqual([
    0.4, 0.6,
  ]);
});

it('shows the histogram as k by epoch, every task once', () => {
  const cells = seriesOf('success-histogram')[0]?.data as unknown as [number, number, number][];
  expect(cells).toHaveLength(6 * 9);
  const inEpoch = (column: number) =>
    cells.filter(([at]) => at === column).reduce((sum, [, , tasks]) => sum + tasks, 0);
  expect(rows.map((_, column) => inEpoch(column))).toEqual(
    rows.map(({ metrics }) => Math.round(32 * (metrics['env/valid_fraction'] ?? 0))),
  );
  expect(chart('success-histogram').option.yAxis).toMatchObject({
    data: ['0/8', '1/8', '2/8', '3/8', '4/8', '5/8', '6/8', '7/8', '8/8'],
  });
});

it('shades one standard deviation of difficulty on either side', () => {
  const { 'env/difficulty': mean, 'env/difficulty_sd': spread } = rows[2]?.metrics ?? {};
  expect(named('difficulty', 'difficulty, low').data[2]).toBeCloseTo((mean ?? 0) - (spread ?? 0), 9);
  expect(named('difficulty', 'difficulty, range').data[2]).toBeCloseTo(2 * (spread ?? 0), 9);
});

it('stacks times by phase, the longest first, without the sum', () => {
  expect(
    seriesOf('time')
      .filter(({ stack }) => stack === 'time')
      .map(({ name }) => name),
  ).toEqual(['roll out', 'generate']);
});

it('draws no time for a phase that an epoch skips, and a gap for an epoch without times', () => {
  const timed = rows.map((row, index) => ({
    ...row,
    time: index === rows.length - 1 ? {} : { epoch: 9, rollOut: 5, ...(index % 5 === 0 && { evaluate: 3 }) },
  }));
  const time = chartsOf(timed, [], experiment).costs.find(({ id }) => id === 'time')!;
  const evaluate = (time.option.series as Drawn[]).find(({ name }) => name === 'evaluate')!;
  expect(evaluate.data).toEqual([3, 0, 0, 0, 0, null]);
});

it('stacks what was dropped by reason', () => {
  expect(seriesOf('filtered').map(({ type, stack }) => [type, stack])).toContainEqual(['bar', 'reasons']);
});

it('draws pass@k beside held-out success where it was measured', () => {
  const evaluated = (over: Record<string, number>) =>
    rows.map((row) => ({
      ...row,
      metrics: {
        ...row.metrics,
        'eval/heldout': 0.5,
        'eval/heldout_low': 0.4,
        'eval/heldout_high': 0.6,
        ...over,
      },
    }));
  const drawn = (over: Record<string, number>) =>
    (Object.values(chartsOf(evaluated(over), [], experiment)).flat() as Chart[]).find(
      ({ id }) => id === 'held-out',
    )!.option.series as { name: string; data: (number | null)[] }[];
  expect(
    drawn({ 'eval/pass_at_k': 0.8 })
      .find(({ name }) => name === 'pass@k')
      ?.data.at(-1),
  ).toBe(0.8);
  expect(drawn({}).map(({ name }) => name)).not.toContain('pass@k');
});

it('leaves out figures of what was never measured', () => {
  const bare = rows.map((row) => ({ ...row, time: {}, metrics: { 'env/success_rate': 0.5 } }));
  expect(
    Object.values(chartsOf(bare, [], null))
      .flat()
      .map(({ id }: Chart) => id),
  ).toEqual(['success-rate', 'baselines']);
  expect(Object.values(chartsOf([], [], null)).flat()).toEqual([]);
});

it('is plain JSON, with colours of the style sheet by name', () => {
  for (const { id, option } of all()) {
    expect(JSON.parse(JSON.stringify(option)), id).toEqual(option);
    expect(JSON.stringify(option), id).not.toMatch(/#[0-9a-f]{3,6}|rgba?\(/);
  }
});

it('draws a histogram of more cells than a call takes arguments', () => {
  const counts = Object.fromEntries(range(400).map((k) => [`env/success_rate_hist/${k}`, k]));
  const long = range(400).map((index) => ({ ...rows[0]!, epoch: index + 1, metrics: counts }));
  const histogram = chartsOf(long, [], experiment).frontier.find(({ id }) => id === 'success-histogram')!;
  expect(histogram.option.visualMap).toMatchObject({ max: 399 });
});

describe('guards', () => {
  const guardOf = (
    label: string,
    metrics: Record<string, number | null>,
    settings: typeof experiment | null = experiment,
  ) =>
    guards(
      rows.map((row) => ({ ...row, metrics: { ...row.metrics, ...metrics } })),
      settings,
    ).find((guard) => guard.label === label) ?? expect.fail(`no guard ${label}`);

  it.each([
    ['Effective groups', { 'env/effective_group_ratio': 0.49 }],
    ['Signal 4p(1−p)', { 'env/signal': 0.3 }],
    ['Random policy', { 'env/random_success_rate': 0.5 }],
    ['Discrimination', { 'env/discrimination': 0 }],
    ['Ahead of its frozen self', { 'env/frozen_success_rate': 1 }],
    ['Verdict agreement', { 'env/verdict_agreement': 0.999 }],
    ['Valid tasks', { 'env/valid_fraction': 0.7 }],
    ['Distinct tasks', { 'env/distinct_fraction': 0.6 }],
    ['Largest kind', { 'env/kind/T': 0.96 }],
    ['Simulator updated', { 'env/steps': 0 }],
    ['Regression weights in use', { 'env/rwr_ess': 0.99 }],
    ['KL of the simulator', { 'env/kl': 1.2 }],
    ['Sampler against trainer', { 'sampling/sampling_logp_difference/mean': 0.01 }],
    ['Rollouts lost', { 'rollouts/errored': 1 }],
  ])('%s warns, and is quiet otherwise', (label, bad) => {
    expect(guardOf(label, {}).state).toBe('ok');
    expect(guardOf(label, bad).state).toBe('warn');
  });

  it('judges a verdict that once disagreed, however long ago', () => {
    const history = rows.map((row, index) =>
      index === 0 ? { ...row, metrics: { ...row.metrics, 'env/verdict_agreement': 0.9 } } : row,
    );
    expect(guards(history, experiment).find(({ label }) => label === 'Verdict agreement')?.state).toBe(
      'warn',
    );
  });

  it('judges the age of records by the window, and only reads it where there is a memory', () => {
    const age = (over: Partial<Experiment['pools']['environment']>, mean: number) =>
      guardOf(
        'Age of the simulator’s records',
        { 'pool/env_mean_age': mean },
        {
          ...experiment,
          pools: { ...experiment.pools, environment: { ...experiment.pools.environment, ...over } },
        },
      );
    expect(age({}, 13)).toMatchObject({ state: 'info', value: '13' });
    expect(age({ memory: null }, 0)).toMatchObject({ state: 'ok', threshold: '≤ 1' });
    expect(age({ memory: null, window: 2 }, 2.5)).toMatchObject({ state: 'warn', threshold: '≤ 2' });
    expect([
      age({ memory: null, window: null }, 1).state,
      age({ memory: null, window: null }, 1.5).state,
    ]).toEqual(['ok', 'warn']);
    expect(guardOf('Age of the simulator’s records', {}, null).state).toBe('info');
  });

  it('judges wordings where the simulator writes some', () => {
    expect(guardOf('Untrue wordings', { 'env/inconsistent': 0.05 }).state).toBe('ok');
    expect(guardOf('Untrue wordings', { 'env/inconsistent': 0.06 }).state).toBe('warn');
    expect(guards(rows, experiment).some(({ label }) => label === 'Untrue wordings')).toBe(false);
  });

  it('judges labels that the simulator wrote by the share of them that votes dispute', () => {
    const language = { ...experiment, world: worldSettings.parse({ type: 'language' }) };
    const labels = (disputed: number, unconfirmed: number, votes = 200) => {
      const over = {
        'env/label_votes': votes,
        'env/labels_disputed': disputed,
        'env/labels_unconfirmed': unconfirmed,
      };
      return ['Disputed labels', 'Unconfirmed labels'].map((label) => guardOf(label, over, language));
    };
    expect(labels(0, 8)).toMatchObject([
      { state: 'ok', history: rows.map(() => 0) },
      { state: 'info', history: rows.map(() => 0.2) },
    ]);
    expect(labels(1, 1)[0]).toMatchObject({ state: 'warn', history: rows.map(() => 0.025) });
    expect(labels(0, 0, 0)[0]!.state).toBe('missing');
    expect(guards(rows, language).some(({ label }) => label.endsWith('labels'))).toBe(false);
  });

  it('does not blame a frozen policy, nor judge what was not measured', () => {
    const frozen = { ...experiment, environment: { ...experiment.environment, training: null } };
    expect(guardOf('Simulator updated', { 'env/steps': 0 }, frozen)).toMatchObject({
      state: 'info',
      threshold: 'frozen',
    });
    expect(guardOf('Discrimination', { 'env/discrimination': null })).toMatchObject({
      state: 'missing',
      value: 'not measured',
    });
  });
});
