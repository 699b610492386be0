import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { RunMetrics } from '../../src/telemetry/run-metrics.ts';
import type { RunningWorkflow } from '../../src/telemetry/run-metrics.ts';
import { readSamples } from '../../test-support/prometheus-text.ts';
import type { Samples } from '../../test-support/prometheus-text.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

let runs: string;
beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), 'genenv-runs-'));
});
afterEach(() => rmSync(runs, { recursive: true, force: true }));

const folder = (id: string): RunFolder => new RunFolder(runs, id);
const workflow = (id: string, isPaused = false): RunningWorkflow => ({
  id,
  isPaused,
  startedAt: new Date('2026-01-01T00:00:00Z'),
});

async function addRun(id: string, epoch: number, metrics: Record<string, number | null>): Promise<void> {
  if ((await folder(id).readExperiment()) === undefined)
    await folder(id).writeExperiment(parseExperiment(tinyExperiment()));
  await folder(id).appendMetrics({ epoch, at: `2026-01-01T0${epoch}:00:00.000Z`, metrics, time: {} });
}

/** @param answers what Temporal answers, one after the other; an error stands for no answer */
function scraper(...answers: (RunningWorkflow[] | Error)[]): () => Promise<Samples> {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const registry = new Registry();
  const metrics = new RunMetrics(registry, {
    runFolder: folder,
    listRunning: () => {
      const answer = answers.shift() ?? [];
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  return async () => {
    vi.advanceTimersByTime(10_001);
    await metrics.refresh();
    return readSamples(await registry.metrics());
  };
}

test('a run has the figures of its last epoch, and the caps of its file', async () => {
  await addRun('a', 1, { 'env/success_rate': 0.2, 'env/kl': 0.1 });
  const scrape = scraper([workflow('a')], [workflow('a', true)]);
  const first = await scrape();
  expect(first.sum('genenv_run_success_rate', { run: 'a' })).toBe(0.2);
  expect(first.sum('genenv_run_kl', { policy: 'environment' })).toBe(0.1);
  expect(first.sum('genenv_run_kl_cap', { policy: 'environment' })).toBe(1);
  expect(first.has('genenv_run_kl_cap', { policy: 'agent' })).toBe(false);
  expect(first.sum('genenv_run_last_commit_timestamp_seconds')).toBe(Date.UTC(2026, 0, 1, 1) / 1000);
  expect(first.sum('genenv_run_paused')).toBe(0);

  await addRun('a', 2, { 'env/success_rate': 0.5, 'env/kl': null });
  const second = await scrape();
  expect(second.sum('genenv_run_epoch')).toBe(2);
  expect(second.sum('genenv_run_success_rate')).toBe(0.5);
  expect(second.has('genenv_run_kl')).toBe(false);
  expect(second.sum('genenv_run_paused')).toBe(1);
});

test('a run without files yet shows when it started', async () => {
  const samples = await scraper([workflow('new')])();
  expect(samples.sum('genenv_run_last_commit_timestamp_seconds', { run: 'new' })).toBe(
    Date.UTC(2026, 0, 1) / 1000,
  );
  expect(samples.has('genenv_run_epoch')).toBe(false);
});

test('a run that has ended is dropped; while Temporal is away, runs stay', async () => {
  await addRun('a', 1, { 'env/success_rate': 0.2 });
  await addRun('b', 1, { 'env/success_rate': 0.3 });
  const scrape = scraper([workflow('a'), workflow('b')], new Error('away'), [workflow('b')]);
  const names = (samples: Samples): string[] =>
    [...new Set(samples.all.map(({ labels }) => labels.run!))].sort();
  expect(names(await scrape())).toEqual(['a', 'b']);
  expect(names(await scrape())).toEqual(['a', 'b']);
  expect(names(await scrape())).toEqual(['b']);
  expect(names(await scrape())).toEqual([]);
});
