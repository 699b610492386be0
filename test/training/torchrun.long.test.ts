import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { runJob } from '../../src/training/run-job.ts';
import { torchrunLauncher } from '../../src/training/torchrun-launcher.ts';
import type { JobProgress, TrainingJob } from '../../src/types/training-job.ts';
import { processesWith } from '../../test-support/processes.ts';
import { someKey } from '../store/some-key.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { failureOf } from './job-trial.ts';

const python = new Python(pythonPath(), process.env);
const variables = { PYTHONPATH: join(repository, 'trainer') };

/** A real job on two processes of the processor, of as many steps as there are rows. */
async function supervisedJob(steps: number) {
  const work = await openWork(await temporaryFolder(), someKey());
  const batch = join(work.path, '..', 'batch.jsonl');
  const rows = Array.from({ length: steps }, (_, step) => ({
    ...{ step, group_id: `row-${step}`, env_name: 'any' },
    ...{ advantage: 0, weight: 1, logprobs: [], temperature: 1, policy_version: null },
    ...{ prompt: 'a+b=', completion: '1' },
  }));
  await writeFile(batch, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const fixture = join(repository, 'test/contract/fixtures/job-supervised.json');
  const job = JSON.parse(await readFile(fixture, 'utf8')) as TrainingJob;
  const settings = { ...job.settings, tokens_per_micro_batch: 4096 };
  Object.assign(job, { batch, settings, threads: 1, random_stream: 'micro_batch', checkpoint_every: 100 });
  const progress: JobProgress[] = [];
  const controller = new AbortController();
  const running = runJob({
    ...{ work, job, python },
    launcher: torchrunLauncher(python, variables, 2),
    onProgress: (line) => progress.push(line),
    signal: controller.signal,
    detach: () => false,
    stallMs: 300_000,
    onDamage: () => undefined,
  });
  running.catch(() => undefined);
  onTestFinished(async () => {
    controller.abort(new Error('the test is over'));
    await failureOf(running);
  });
  return { folder: work.path, progress, controller, running };
}

/** Processes of this host that were started for a folder. */
const processesOf = (folder: string): number[] =>
  processesWith((process) => readFileSync(`${process}/cmdline`, 'utf8').includes(folder));

describe('a training job on several processes of this host', { timeout: 600_000 }, () => {
  it('ends with its result', async () => {
    const job = await supervisedJob(2);
    expect(await job.running).toMatchObject({ result: { steps: 2, steps_done: 2 } });
  });

  it('writes a checkpoint when it is cancelled, and leaves no process', async () => {
    const job = await supervisedJob(5_000);
    await expect.poll(() => job.progress.at(-1)?.step ?? 0, { timeout: 300_000 }).toBeGreaterThan(0);
    // torchrun, and its two processes.
    expect(processesOf(job.folder).length).toBeGreaterThanOrEqual(3);
    job.controller.abort(new Error('cancelled'));
    expect(await failureOf(job.running)).toMatchObject({ message: 'cancelled' });
    const exit = JSON.parse(await readFile(join(job.folder, 'exit.json'), 'utf8')) as object;
    expect(exit).toMatchObject({ reason: 'terminated' });
    await expect.poll(() => processesOf(job.folder), { timeout: 60_000 }).toEqual([]);
  });

  it('that is killed leaves no process', async () => {
    const job = await supervisedJob(5_000);
    await expect.poll(() => job.progress.at(-1)?.step ?? 0, { timeout: 300_000 }).toBeGreaterThan(0);
    const launcher = torchrunLauncher(python, variables, 2);
    const launch = JSON.parse(await readFile(join(job.folder, 'launch.json'), 'utf8')) as object;
    // As a worker does that attached to it: it knows the process that holds the lock alone.
    expect(await launcher.cancel({ ...launch, folder: job.folder } as never, 0)).toBe(true);
    expect(await failureOf(job.running)).toMatchObject({ name: 'TrainerFailed' });
    await expect.poll(() => processesOf(job.folder), { timeout: 60_000 }).toEqual([]);
  });
});
