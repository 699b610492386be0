import { expect, it } from 'vitest';
import type { PhaseKey } from '../../src/store/phase-cache.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { NEUTRAL_JOB_SETTINGS } from '../../src/training/job-settings.ts';
import { plannedHandle } from '../../src/training/launcher.ts';
import type { Launcher, LauncherType } from '../../src/training/launcher.ts';
import { runPolicyJob } from '../../src/training/policy-update.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { failureOf, python } from './job-trial.ts';

type Dependencies = Parameters<typeof runPolicyJob>[0];
type Context = Parameters<typeof runPolicyJob>[1];
type Request = Parameters<typeof runPolicyJob>[2];

const inputHash = 'ab'.repeat(32);
const key: PhaseKey = { experiment: 'run', epoch: 1, phase: 'train-agent', inputHash };

/** Runs a job that waits, until the attempt is interrupted. @returns whether the job left its queue */
async function interrupted(
  type: LauncherType,
  { isSuperseded, isWorkerStopping = false }: { isSuperseded: boolean; isWorkerStopping?: boolean },
): Promise<boolean> {
  let isCancelled = false;
  const launcher: Launcher = {
    ...{ type, pollMs: 20, settleMs: 0, preempts: true },
    submit: (submission) => Promise.resolve(plannedHandle(type, submission)),
    state: () => Promise.resolve({ state: 'queued', reason: 'Resources' }),
    cancel: () => Promise.resolve((isCancelled = true)),
    logs: () => 'cat log.txt',
    describe: () => 'job 42',
  };
  const controller = new AbortController();
  const dependencies = {
    activityContext: () => ({
      signal: controller.signal,
      heartbeat: () => controller.abort(new Error('interrupted')),
      isWorkerStopping: () => isWorkerStopping,
      isSuperseded: () => isSuperseded,
    }),
    launcher: () => launcher,
    store: { localPath: () => Promise.resolve('/batch') },
    ...{ python, devices: '/devices', onShutdown: 'checkpoint', onDamage: () => undefined },
  } as unknown as Dependencies;
  const trainer = { device: 'cpu', threads: 1, precision: 'float32', checkpointEvery: 1 };
  const folder = await temporaryFolder();
  const context = {
    experiment: { trainer, durability: { heartbeatSeconds: 60 }, seed: 1 },
    inputHash,
    work: () => openWork(folder, key),
  } as unknown as Context;
  const request = {
    ...{ kind: 'grpo', role: 'agent', epoch: 1, start: { scratch: {} }, batch: {}, phase: null },
    ...{ model: { type: 'scratch' }, reference: null, trainerState: null, settings: NEUTRAL_JOB_SETTINGS },
  } as unknown as Request;
  expect(await failureOf(runPolicyJob(dependencies, context, request))).toMatchObject({
    message: 'interrupted',
  });
  return isCancelled;
}

it.each(['slurm', 'ray', 'kubernetes'] as const)(
  'a job of %s is left to the next attempt if this one is superseded, and not if it is asked to end',
  async (type) => {
    expect(await interrupted(type, { isSuperseded: true })).toBe(false);
    expect(await interrupted(type, { isSuperseded: true, isWorkerStopping: true })).toBe(false);
    expect(await interrupted(type, { isSuperseded: false })).toBe(true);
    expect(await interrupted(type, { isSuperseded: false, isWorkerStopping: true })).toBe(true);
  },
);

it.each(['process', 'resident', 'torchrun'] as const)(
  'a job of the launcher %s ends with its attempt: the next one may run on another host',
  async (type) => {
    expect(await interrupted(type, { isSuperseded: true })).toBe(true);
  },
);
