import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import type { Summary } from '../../src/comparison/summary.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { comparisonStack } from '../../test-support/comparison-stack.ts';

/**
 * experiments/compare-tiny.json as a person runs it: two arms under two seeds, real models and a real
 * trainer.
 */

const { stack, at, compare: compareFile } = comparisonStack();
const compare = (...options: string[]) =>
  compareFile(join(repository, 'experiments/compare-tiny.json'), ...options);

test('genenv compare --dry-run says what the runs, and what is measured on them, would take', async () => {
  const { code, out } = await compare('--dry-run');
  expect(code).toBe(0);
  expect(out).toMatch(/^runs +4, 2 at a time: compare-tiny\.tuned\.1 to compare-tiny\.random\.2$/m);
  expect(out).toMatch(/^cross-play +48 tasks written, 576 attempts$/m);
  expect(out).toMatch(/^probes +768 attempts$/m);
  expect(existsSync(at('comparisons'))).toBe(false);
});

/**
 * How many rollouts a run had made when it was evaluated, from its ledger: at most 128 an epoch, since what
 * is no task is not attempted.
 */
async function rolloutsBy(arm: string, seed: number): Promise<number[]> {
  const lines = await (await new RunFolder(
    at('runs'),
    `compare-tiny.${arm}.${seed}`,
  ).open<LedgerEntry>())!.ledger.read();
  const made = lines.map(({ metrics }) => metrics['rollouts/count'] ?? 0);
  return [0, 3, 6].map((epoch) => made.slice(0, epoch + 1).reduce((sum, count) => sum + count, 0));
}

/** Messages of the activity attempts of a run that failed other than by a timeout. */
async function failuresOfAttempts(id: string): Promise<string[]> {
  const { events } = await stack().client.workflow.getHandle(id).fetchHistory();
  return (events ?? []).flatMap(({ activityTaskStartedEventAttributes: started }) => {
    const failure = started?.lastFailure;
    return !failure || failure.timeoutFailureInfo ? [] : [failure.message ?? ''];
  });
}

test('genenv compare runs every arm under every seed, sums them up, and does nothing twice', async () => {
  const first = await compare('--docs', at('docs-results.md'));
  expect(first, first.err).toMatchObject({ code: 0 });
  expect(first.out).toContain('Started compare-tiny');
  expect(first.out).toMatch(/^arm +held-out, mean over the run +minus random/m);
  expect(first.out).toMatch(/^tuned +0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] /m);
  expect(first.out).toContain(`Report: ${at('comparisons/compare-tiny/report.html')}`);

  const summary = JSON.parse(readFileSync(at('comparisons/compare-tiny/summary.json'), 'utf8')) as Summary;
  expect(summary).toMatchObject({
    seeds: [1, 2],
    epochs: 6,
    rolloutsPerEpoch: 128,
    arms: [{ arm: 'tuned' }, { arm: 'random' }],
  });
  const [tuned, random] = summary.arms.map(({ runs }) => runs);
  for (const [index, run] of tuned!.entries()) {
    // The same warm agent under a seed, and another one after training on other tasks.
    expect(run.curve.map(({ rollouts }) => rollouts)).toEqual(await rolloutsBy('tuned', index + 1));
    expect(run.curve.at(-1)!.rollouts).toBeGreaterThan(384);
    expect(run.curve.at(-1)!.rollouts).toBeLessThanOrEqual(768);
    expect(summary.rollouts).toBeLessThanOrEqual(run.curve.at(-1)!.rollouts);
    expect(run.curve[0]).toEqual(random![index]!.curve[0]);
    expect(run.ledger).not.toBe(random![index]!.ledger);
  }
  const { rates, epochs } = summary.crossPlay[0]!;
  expect(epochs).toEqual([0, 3, 6]);
  expect(rates.flat().filter((rate) => rate !== null).length).toBeGreaterThan(0);

  const [probed] = summary.probes;
  expect(probed).toMatchObject({ arm: 'tuned', alpha: 0.5, agents: [{ seed: 1, epoch: 3, tasks: 12 }] });
  expect(probed!.ranking.map(({ n }) => n)).toEqual([4, 8, 16]);
  for (const { measured, bound } of probed!.ranking) expect(measured).toBeLessThanOrEqual(bound);
  // Some tasks are solved sometimes, and those have a gradient that a real backward pass gave.
  expect(probed!.signal!.slope).toBeGreaterThan(0);
  expect(probed!.signal!.bins.reduce((sum, { tasks }) => sum + tasks, 0)).toBe(12);
  expect(summary.claims.map(({ arm }) => arm)).toEqual(['tuned']);
  expect(summary.against.map(({ reference }) => reference)).toEqual(['random', 'tuned']);

  const results = readFileSync(at('comparisons/compare-tiny/results.md'), 'utf8');
  expect(readFileSync(at('docs-results.md'), 'utf8').startsWith(results)).toBe(true);
  expect(JSON.parse(readFileSync(at('docs-results.json'), 'utf8'))).toEqual(summary);
  for (const heading of ['## Claims', '## Retention', '## Gradient signal', '## Ranking'])
    expect(results).toContain(heading);
  const report = readFileSync(at('comparisons/compare-tiny/report.html'), 'utf8');
  for (const id of [
    'learning',
    'success',
    'difficulty',
    'length',
    'informative',
    'cross-play-tuned',
    'signal-tuned',
    'ranking-tuned',
  ])
    expect(report).toContain(`id="chart-${id}"`);

  // Both arms of a seed begin at once, and neither takes the other's warm-up away. (A machine that is busy
  // may let a heartbeat time out: that attempt is made again, and it is not what is looked for here.)
  for (const seed of [1, 2])
    for (const arm of ['tuned', 'random'])
      expect(await failuresOfAttempts(`compare-tiny.${arm}.${seed}`)).toEqual([]);

  const ledgers = ['tuned', 'random'].map((arm) =>
    readFileSync(at('runs', `compare-tiny.${arm}.1`, 'ledger.jsonl'), 'utf8'),
  );
  const again = await compare();
  expect(again, again.err).toMatchObject({ code: 0 });
  expect(readFileSync(at('comparisons/compare-tiny/results.md'), 'utf8')).toBe(results);
  expect(
    ['tuned', 'random'].map((arm) =>
      readFileSync(at('runs', `compare-tiny.${arm}.1`, 'ledger.jsonl'), 'utf8'),
    ),
  ).toEqual(ledgers);
}, 600_000);

test('input that is wrong starts nothing', async () => {
  const { code, err } = await compareFile(join(repository, 'experiments/laptop.json'));
  expect(code).toBe(2);
  expect(err).toContain('comparison: seeds: missing');
  expect(existsSync(at('comparisons/laptop'))).toBe(false);
}, 60_000);
