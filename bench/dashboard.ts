import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RunFolder } from '../src/runs/run-folder.ts';
import { ObjectStore } from '../src/store/object-store.ts';
import type { RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../src/types/records.ts';
import { exampleExperiment } from '../test-support/experiments.ts';

const PER_TASK = 8;
const TOKENS = 128;

/**
 * The dashboard over one epoch of 1,024 and of 102,400 rollouts of 128 tokens: seconds until the index is made,
 * of the first view of its tasks with the index there, and of a task with its attempts; peak memory of the server.
 */
export async function dashboard(): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  for (const rollouts of [1_024, 102_400]) {
    const home = await mkdtemp(join(tmpdir(), 'genenv-bench-'));
    try {
      await makeHome(home, rollouts / PER_TASK);
      // The second process finds the index that the first has made, as after a commit.
      const [making, viewing] = [measure(home), measure(home)];
      results[rollouts] = {
        index_seconds: making.tasks_seconds,
        first_view_seconds: viewing.tasks_seconds,
        task_seconds: viewing.task_seconds,
        peak_megabytes: Math.max(making.peak_megabytes!, viewing.peak_megabytes!),
      };
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }
  return results;
}

const measure = (home: string): Record<string, number> =>
  JSON.parse(
    execFileSync(process.execPath, [fileURLToPath(new URL('dashboard-child.ts', import.meta.url)), home], {
      encoding: 'utf8',
    }),
  ) as Record<string, number>;

async function makeHome(home: string, tasks: number): Promise<void> {
  const store = new ObjectStore(join(home, 'store'));
  const run = new RunFolder(join(home, 'runs'), 'large');
  const ledger = run.ledger(await run.writeExperiment(exampleExperiment({})));
  const ids = Array.from(
    { length: tasks },
    (_, index) => `epoch-0001/task-${String(index).padStart(5, '0')}`,
  );
  const attempts = Array.from({ length: PER_TASK }, (_, index) => index);
  const outputs = {
    tasks: await store.putRecords(ids.map(taskRecord)),
    scores: await store.putRecords(ids.map(scoreRecord)),
    decisions: await store.putRecords(
      ids.map((task_id) => ({ task_id, kept_for_agent: true, kept_for_environment: true, reason: '' })),
    ),
    rewards: await store.putRecords(
      ids.flatMap((id) => attempts.map((attempt) => rewardRecord(id, attempt))),
    ),
    traces: [
      await store.putRecords(
        (function* () {
          for (const id of ids) for (const attempt of attempts) yield traceRecord(id, attempt);
        })(),
      ),
    ],
  };
  await ledger.append({ epoch: 0, inputs: {}, outputs: {}, metrics: {}, notes: [] });
  await ledger.append({ epoch: 1, inputs: {}, outputs, metrics: { 'env/success_rate': 0.5 }, notes: [] });
  await run.appendMetrics({ epoch: 1, metrics: { 'env/success_rate': 0.5 }, time: { epoch: 1 } });
  await run.appendEvent({ type: 'started' });
}

const sampled = (seed: number) => ({
  policy_version: 'agent@0000-0123456789ab',
  seed,
  temperature: 1,
  prompt_token_ids: Array.from({ length: TOKENS }, (_, index) => index),
  token_ids: Array.from({ length: TOKENS }, (_, index) => (seed + index) % 50),
  logprobs: Array.from({ length: TOKENS }, (_, index) => -((seed + index) % 17) / 10),
  text: 'some words '.repeat(TOKENS / 2),
  finish_reason: 'stop',
});

const taskRecord = (id: string, index: number): TaskRecord => ({
  id,
  source: 'new',
  batch_id: 'batch-0',
  context: 'what the simulator was told',
  history_success: 0.5,
  simulator: 'current',
  valid: true,
  invalid_reason: '',
  repeats: 0,
  spec: null,
  prompt: `Solve task ${index}. ${'It is described in many words. '.repeat(10)}`,
  kind: 'T',
  difficulty: index % 16,
  latents: {},
  sampled: sampled(index),
});

const scoreRecord = (task_id: string, index: number): ScoreRecord => ({
  task_id,
  source: 'new',
  kind: 'T',
  difficulty: index % 16,
  valid: true,
  attempts: PER_TASK,
  successes: index % 9,
  success_rate: (index % 9) / PER_TASK,
  target_rate: 0.5,
  frozen_rate: null,
  random_rate: null,
  informative: index % 9 > 0 && index % 9 < PER_TASK,
  env_reward: 0.5,
  guard: 1,
});

const rewardRecord = (task_id: string, attempt: number): RewardRecord => ({
  id: `${task_id}/rollout-${attempt}`,
  task_id,
  role: 'agent',
  reward: attempt % 2,
  second_reward: attempt % 2,
  well_formed: true,
  advantage: 0.5,
  answer: 'an answer',
});

const traceRecord = (task_id: string, attempt: number): TraceRecord => ({
  id: `${task_id}/rollout-${attempt}`,
  task_id,
  role: 'agent',
  sampled: sampled(attempt),
});
