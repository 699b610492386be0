import { describe, expect, test } from 'vitest';
import { measuresOf, withMeasures } from '../../src/comparison/measured-policies.ts';
import { experimentOf } from '../../src/comparison/plan.ts';
import type { PortableRun } from '../../src/comparison/portable-run.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { parseRunsFile, runsFileText, runsOf } from '../../src/comparison/runs-file.ts';
import { summarize, summarizeRuns } from '../../src/comparison/summary.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { comparison, runs } from './some-runs.ts';
import type { Course } from './some-runs.ts';

const plan = comparison();
const course = (end: number): Course => ({
  heldOut: (seed) => [0.1, 0.2, 0.3, end + seed / 100],
  success: (epoch) => epoch / 20,
  metrics: (epoch) => (epoch > 6 ? { 'env/kind/T': 1 } : {}),
});
const records = runs(plan, { tuned: course(0.6), random: course(0.5) });
const oneHome = { home: '0000000a', machine: 'linux x64, one processor' };
const anotherHome = { home: '0000000b', machine: 'linux x64, another' };
/** A line of each run. */
const lines = records.map(({ arm, seed, warm, rows, ledger }, index): PortableRun => {
  const names = [...new Set(rows.flatMap(({ metrics }) => Object.keys(metrics)))];
  return {
    format: 1,
    arm,
    seed,
    experiment: hashOf(experimentOf(plan, { arm, seed })),
    ledger: hashOf([ledger, index]),
    warm,
    changed: [],
    epochs: 12,
    metrics: Object.fromEntries(
      names.map((name) => [name, rows.map(({ metrics }) => metrics[name] ?? null)]),
    ),
    origin: oneHome,
  };
});
const parsed = (changed: readonly PortableRun[]): PortableRun[] =>
  parseRunsFile('some.runs.jsonl', runsFileText(changed));
const resultsOf = (changed: readonly PortableRun[]): string =>
  resultsMarkdown(summarizeRuns(plan, plan.name, runsOf(plan, parsed(changed))));

describe('a runs file', () => {
  test('has all that results are made of', () => {
    const inPlace = summarize(
      plan,
      records.map((run, index) => ({ ...run, ledger: lines[index]!.ledger, origin: oneHome })),
      [],
    );
    expect(resultsOf(lines)).toBe(resultsMarkdown(inPlace));
    // In whatever order, and where a line stands in two files.
    expect(resultsOf([...lines.toReversed(), lines[2]!])).toBe(resultsMarkdown(inPlace));
  });

  test('holds a metric that never changes once', () => {
    const steady = { ...lines[0]!, metrics: { ...lines[0]!.metrics, 'env/difficulty': 3 } };
    const listed = {
      ...lines[0]!,
      metrics: { ...lines[0]!.metrics, 'env/difficulty': new Array<number>(13).fill(3) },
    };
    const rest = lines.slice(1);
    expect(resultsOf([steady, ...rest])).toBe(resultsOf([listed, ...rest]));
    expect(resultsOf([steady, ...rest])).not.toBe(resultsOf(lines));
  });

  test('says of each run where it was made, if not all were made in one home', () => {
    const carried = lines.map((line) => (line.seed === 3 ? line : { ...line, origin: anotherHome }));
    const text = resultsOf(carried);
    expect(text).toContain(
      '> The runs were made in 2 homes, and carried into one by their figures: A (linux x64, another) 4, ' +
        'B (linux x64, one processor) 2 of 6.',
    );
    expect(text).toMatch(/^\| `tiny-comparison\.tuned\.1` \| `[0-9a-f]{16}` \| A \|$/m);
    expect(text).toMatch(/^\| `tiny-comparison\.random\.3` \| `[0-9a-f]{16}` \| B \|$/m);
    expect(text).not.toContain('the arms ran in different homes');
    expect(resultsOf(lines)).not.toContain('homes');
    const split = lines.map((line) =>
      line.arm === 'tuned' && line.seed === 2 ? { ...line, origin: anotherHome } : line,
    );
    expect(resultsOf(split)).toContain('> Under seed 2 the arms ran in different homes.');
  });

  test('is refused with the line that is wrong', () => {
    const problem =
      (text: string): (() => unknown) =>
      () =>
        parseRunsFile('a.jsonl', text);
    expect(problem('{"format":1')).toThrow('runs file: a.jsonl: line 1: not JSON');
    const [first] = lines;
    expect(problem(`${runsFileText([first!])}${JSON.stringify({ ...first, ledger: 'x' })}\n`)).toThrow(
      'runs file: a.jsonl: line 2: ledger: expected 64 hexadecimal digits',
    );
    expect(problem(JSON.stringify({ ...first, extra: 1 }))).toThrow('line 1: : Unrecognized key: "extra"');
    expect(problem(JSON.stringify({ ...first, metrics: { a: '1' } }))).toThrow('line 1: metrics.a: ');
  });

  test('is refused for what would forge a report, or take memory without limit', () => {
    const changed = (fields: object) => () => parsed([{ ...lines[0]!, ...fields }]);
    const madeOn = (machine: string) => changed({ origin: { home: '0000000b', machine } });
    expect(madeOn('x\n\n## Claims')).toThrow('origin.machine: expected text without control characters');
    expect(madeOn('<img src=x onerror=alert(1)>')).toThrow('origin.machine: expected text without markup');
    expect(madeOn('linux x64, Intel(R) Xeon(R) CPU @ 2.20GHz')).not.toThrow();
    const names = Array.from({ length: 6_000 }, (_, index) => [`m${index}`, 0] as const);
    expect(changed({ metrics: Object.fromEntries(names) })).toThrow('metrics: expected at most 5000 metrics');
    const probes = { checkpoints: 1, tasks: 2, attempts: 8 };
    const agent = { epoch: 6, attempts: ['0', '1'], signal: null };
    expect(changed({ probes: { ...probes, agents: [agent] } })).not.toThrow();
    const most = 'probes: expected at most as many agents and tasks as its settings say';
    expect(changed({ probes: { ...probes, agents: [agent, { ...agent, epoch: 7 }] } })).toThrow(most);
    expect(changed({ probes: { ...probes, agents: [{ ...agent, attempts: ['0', '1', '1'] }] } })).toThrow(
      most,
    );
  });

  test('is refused for a run of other settings, of other length, and for two of one run', () => {
    const changed = (fields: Partial<PortableRun>) => () =>
      runsOf(plan, [lines[0]!, { ...lines[0]!, ...fields }]);
    const digest = hashOf('another');
    expect(changed({ experiment: digest })).toThrow(
      `runs file: tuned, seed 1: got a run of other settings (${digest.slice(0, 12)}); expected`,
    );
    expect(changed({ epochs: 11 })).toThrow('runs file: tuned, seed 1: got 11 epochs; expected 12');
    expect(changed({ ledger: digest })).toThrow(
      'runs file: tuned, seed 1: got two runs, whose ledgers end with',
    );
    // Scores that one of two lines of a run has are in what they are joined to, whichever comes last.
    const scored = { ...lines[0]!, metrics: { ...lines[0]!.metrics, 'benchmark/some': 0.5 } };
    for (const both of [
      [scored, lines[0]!],
      [lines[0]!, scored],
    ])
      expect(runsOf(plan, both)[0]!.metrics['benchmark/some']).toBe(0.5);
    // What the comparison does not have is left out.
    expect(runsOf(plan, [{ ...lines[0]!, arm: 'unknown' }])).toEqual([]);
  });
});

describe('what was measured on policies', () => {
  const measuring = {
    ...plan,
    crossPlay: { arms: ['tuned'], seeds: [1, 2], checkpoints: 2, tasks: 8, samples: 2 },
    probes: { arms: ['tuned'], seeds: [1], checkpoints: 1, tasks: 3, attempts: 8 },
  };
  const cells = [{ simulator: 0, agent: 12, successes: 3, attempts: 16 }];
  const agent = {
    arm: 'tuned',
    seed: 1,
    epoch: 6,
    attempts: [[true, false], [true]],
    signal: [{ p: 0.5, norm: 1, score: 2, tokens: 9 }],
  };
  const measured = withMeasures(
    lines,
    { crossPlay: [{ arm: 'tuned', seed: 1, cells }], probed: [agent] },
    measuring,
  );

  test('goes with the run, and comes out as it was', () => {
    expect(measuresOf(parsed(measured), measuring)).toEqual({
      crossPlay: [{ arm: 'tuned', seed: 1, cells }],
      probed: [agent],
    });
  });

  test('does not count if it was measured by other settings, and what is missing is said', () => {
    const more = { ...measuring, crossPlay: { ...measuring.crossPlay, samples: 4 }, probes: null };
    expect(measuresOf(measured, more)).toEqual({ crossPlay: [], probed: [] });
    expect(summarizeRuns(measuring, plan.name, measured).notes).toContain(
      'Cross-play: not measured for tuned under seed 2, whose policies are not in this home.',
    );
  });
});
