import { describe, expect, test } from 'vitest';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import type { RunRecord } from '../../src/comparison/run-metrics.ts';
import { summarize } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { teachingCharts } from '../../src/comparison/teaching-chart.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { runs } from './some-runs.ts';

/** p̂ of an arm's tasks by fresh attempts, and what it teaches, by seed. */
interface Taught {
  success: number;
  gain: (seed: number) => number | null;
}

const target = (name: string): number | null =>
  name === 'even' ? null : Number(name.replace(/\D*/, '')) / 100;

/** `p50` is the bin at 0.5, `even` the mix, `drop-p50` a bin whose agent is trained in another way. */
function summary(taught: Record<string, Taught>, seeds = [1, 2, 3, 4, 5, 6], more: object = {}): Summary {
  const names = Object.keys(taught);
  const plan = parseComparison(
    tinyComparison({
      crossPlay: null,
      probes: null,
      seeds,
      baseline: names[0],
      ...more,
      experiment: tinyExperiment({
        epochs: 12,
        evaluation: { every: 4 },
      }),
      arms: Object.fromEntries(
        names.map((name) => [
          name,
          {
            arm: { type: 'success-bin', target: target(name.replace('drop-', '')) },
            environment: { training: null },
            agent: { training: { dropZeroVariance: name.startsWith('drop-') } },
          },
        ]),
      ),
    }),
  );
  const course = {
    heldOut: () => [0.1, 0.2, 0.3, 0.4] as [number, number, number, number],
    success: () => 0.5,
  };
  const records = runs(plan, Object.fromEntries(names.map((name) => [name, course])));
  return summarize(
    plan,
    records.map((run) => withTaught(run, taught[run.arm]!)),
    [],
  );
}

function withTaught(run: RunRecord, { success, gain }: Taught): RunRecord {
  const gained = gain(run.seed);
  const rows = run.rows.map((row) => {
    const metrics = { ...row.metrics };
    if (row.epoch === 0)
      Object.assign(metrics, { 'pool/success_rate': success, 'pool/screening_success_rate': success });
    if (gained !== null && row.epoch % 4 === 0)
      metrics['eval/heldout_logprob'] = -3 + (row.epoch / 12) * gained;
    return { ...row, metrics };
  });
  return { ...run, rows };
}

/** A bin that teaches about this much. */
const bin = (success: number, gain: number): Taught => ({ success, gain: (seed) => gain + seed / 1000 });
const peak = {
  p5: bin(0.04, 0.02),
  p15: bin(0.17, 0.1),
  p50: bin(0.48, 0.3),
  p90: bin(0.86, 0.05),
  even: bin(0.5, 0.2),
};
const without = (arm: string): Record<string, Taught> =>
  Object.fromEntries(Object.entries(peak).filter(([name]) => name !== arm));
const verdicts = (taught: Record<string, Taught>, seeds?: number[]): string[] =>
  summary(taught, seeds).claims.flatMap(({ rows }) => rows.map(({ verdict }) => verdict));

describe('the claim that tasks at p = α teach most', () => {
  test('is held where success is at α, both sides fall, and the mix teaches less', () => {
    const { claims } = summary(peak);
    expect(claims.map(({ arm }) => arm)).toEqual(['p50']);
    const [teachMost, mix] = claims[0]!.rows;
    expect(teachMost).toMatchObject({ verdict: 'held' });
    expect(teachMost!.claim).toContain('tasks at p = α (0.5) teach most');
    expect(teachMost!.ours).toMatch(
      /^p̂ 0\.040: 0\.02\d \[.*; p̂ 0\.170: 0\.10\d .*; p̂ 0\.480: 0\.30\d .*; p̂ 0\.860: 0\.05\d /,
    );
    expect(mix).toMatchObject({ verdict: 'held' });
    expect(mix!.ours).toMatch(/^p̂ 0\.480: .*; even: 0\.20\d .*; difference 0\.1/);
  });

  test('is not held if another bin has a larger mean, however near', () => {
    expect(verdicts({ ...peak, p30: bin(0.3, 0.31) })[0]).toBe('not held');
    expect(verdicts({ ...peak, p30: bin(0.3, 0.29) })[0]).toBe('held');
  });

  test.each(['p5', 'p15', 'p90'])('is not held unless %s, which is far from α, teaches less', (far) => {
    const uneven: Taught = {
      success: peak[far as 'p5'].success,
      gain: (seed) => (seed % 2 === 0 ? 0.9 : -0.4),
    };
    expect(verdicts({ ...peak, [far]: uneven })[0]).not.toBe('held');
    expect(verdicts({ ...peak, [far]: bin(peak[far as 'p5'].success, 0.4) })[0]).toBe('not held');
  });

  test('is not held if no task teaches', () => {
    const worse = Object.fromEntries(
      Object.entries(peak).map(([name, { success, gain }]) => [
        name,
        { success, gain: (seed: number) => gain(seed)! - 1 },
      ]),
    );
    expect(verdicts(worse)[0]).toBe('not held');
  });

  test('goes by p̂ of fresh attempts: a bin that falls back from its target does not stand for it', () => {
    expect(verdicts({ ...peak, p50: bin(0.39, 0.3) })).toEqual(['not measured', 'not measured']);
    expect(verdicts({ ...peak, p90: bin(0.7, 0.05) })[0]).toBe('not measured');
    // The bin that was meant for 0.15 is the nearest to α.
    const { claims } = summary({ ...peak, p15: bin(0.5, 0.3), p50: bin(0.19, 0.1) });
    expect(claims[0]).toMatchObject({ arm: 'p15', rows: [{ verdict: 'held' }, { verdict: 'held' }] });
  });

  test('is not measured without a bin on both sides, without the outcome, or under a single seed', () => {
    const oneSide = without('p90');
    expect(verdicts(oneSide)[0]).toBe('not measured');
    expect(summary(oneSide).claims[0]!.rows[0]!.ours).toContain('no bin at least 0.3 from α on both sides');
    expect(verdicts({ ...oneSide, p15: bin(0.17, 0.9) })[0]).toBe('not measured');
    expect(verdicts({ ...peak, p50: { success: 0.5, gain: () => null } })[0]).toBe('not measured');
    expect(verdicts(peak, [1])).toEqual(['not measured', 'not measured']);
  });

  test('says nothing of a mix that there is none of, and is not held if the mix teaches as much', () => {
    expect(verdicts(without('even'))).toEqual(['held', 'not measured']);
    expect(verdicts({ ...peak, even: bin(0.5, 0.35) })[1]).toBe('not held');
  });

  test('is judged once for each way in which agents are trained', () => {
    const dropped = Object.fromEntries(
      Object.entries(peak).map(([name, taught]) => [`drop-${name}`, taught]),
    );
    const { claims } = summary({ ...peak, ...dropped, 'drop-p15': bin(0.17, 0.35) });
    expect(claims.map(({ arm, rows }) => [arm, rows[0]!.verdict])).toEqual([
      ['p50', 'held'],
      ['drop-p50', 'not held'],
    ]);
  });

  test('can be named beforehand: one bin against another', () => {
    const primary = [{ arm: 'p50', against: 'p15', measure: 'logprobGain', margin: 0.02 }];
    const [result] = summary(peak, [1, 2, 3, 4, 5, 6], { primary }).primary;
    expect(result).toMatchObject({ verdict: 'larger', p: 2 / 64 });
  });

  test('has a table of what each arm was and taught', () => {
    const text = resultsMarkdown(summary(peak));
    expect(text).toContain('## Teaching');
    expect(text).toMatch(/^\| p50 \| 0\.480 .* \| 0\.480 .* \| 0\.30\d \[/m);
  });
});

test('the chart has a dot for each seed and a mean for each arm, at p̂ of fresh attempts', () => {
  const { arms } = summary({
    p10: { success: 0.15, gain: (seed) => seed / 10 },
    p50: { success: 0.5, gain: () => 0.7 },
    even: { success: 0.4, gain: (seed) => (seed === 1 ? null : 0.5) },
  });
  const [chart] = teachingCharts(arms);
  const series = chart!.option.series as { name: string; data: number[][] }[];
  expect(series.map(({ name, data }) => [name, data.length])).toEqual([
    ['p10', 6],
    ['p10', 1],
    ['p50', 6],
    ['p50', 1],
    ['even', 5],
    ['even', 1],
  ]);
  expect(series[0]!.data[2]).toEqual([0.15, 0.3]);
  expect(series[1]!.data).toEqual([[0.15, 0.35]]);
  expect(teachingCharts(arms.map((arm) => ({ ...arm, type: 'genenv' })))).toEqual([]);
});
