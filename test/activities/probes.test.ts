import { describe, expect, it } from 'vitest';
import { successRate } from '../../src/coevolution/success-rate.ts';
import type {
  GradientRecord,
  ProbeOutcomeRecord,
  ProbeTraceRecord,
  SeedTaskRecord,
} from '../../src/types/records.ts';
import { someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

/** An agent whose success falls from 1 to 0 with difficulty, in a world of lengths up to 8. */
const player = { success: (difficulty: number) => Math.max(0, 1.1 - difficulty / 6) };
const fields = { 'world.heldOutLengths': [1, 8], 'world.heldOutPerCell': 2 };

async function probed(run: SomeRun, attempts = 24) {
  const { epoch, state } = await run.epochs(1);
  const input = { run: run.plan.run, epoch, state };
  const tasks = await run.activities.probeTasks({ ...input, tasks: 10 });
  const { traces, outcomes } = await run.activities.probeAttempts({ ...input, tasks, attempts });
  return { input, tasks, traces, outcomes };
}

describe('probes of an agent', () => {
  it('choose tasks that span success rates, from held-out, base and written ones, each once', async () => {
    // Two thirds of the candidates are never solved.
    const run = await someRun(fields, { success: (difficulty) => [1, 1, 0.6, 0.3][difficulty] ?? 0 });
    const { input, tasks, outcomes } = await probed(run, 64);
    const chosen = (await run.records<SeedTaskRecord>(tasks)).map(({ spec }) => spec);
    expect(chosen).toHaveLength(10);
    expect(new Set(chosen).size).toBe(10);
    const sources = await Promise.all(
      [input.state.held_out, input.state.base_tasks, input.state.train_pool].map(
        async (file) => new Set((await run.records<SeedTaskRecord>(file)).map(({ spec }) => spec)),
      ),
    );
    for (const spec of chosen) expect(sources.some((source) => source.has(spec))).toBe(true);
    const rates = (await run.records<ProbeOutcomeRecord>(outcomes))
      .map(({ solved }) => solved.filter(Boolean).length / solved.length)
      .sort((a, b) => a - b);
    expect(rates.filter((rate) => rate === 0).length).toBeLessThanOrEqual(3);
    expect(rates.filter((rate) => rate > 0.1 && rate < 0.8).length).toBeGreaterThan(2);
    expect(rates.at(-1)).toBe(1);
  });

  it('attempt each task as often as asked, in requests no larger than an epoch’s, and keep what was sampled', async () => {
    const run = await someRun(fields, player);
    const { traces, outcomes, input } = await probed(run, 10);
    const all = await run.records<ProbeTraceRecord>(traces);
    expect(all).toHaveLength(100);
    for (const { task_id, solved } of await run.records<ProbeOutcomeRecord>(outcomes)) {
      const own = all.filter((trace) => trace.task_id === task_id).sort((a, b) => a.attempt - b.attempt);
      expect(own.map(({ attempt }) => attempt)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      expect(solved).toEqual(own.map(({ reward }) => (reward === 1 ? 1 : 0)));
    }
    expect(new Set(all.map(({ sampled: { policy_version } }) => policy_version))).toEqual(
      new Set([input.state.agent.name]),
    );
    expect(
      all.every(
        ({ sampled: { token_ids, prompt_token_ids, logprobs } }) =>
          token_ids.length > 0 && prompt_token_ids.length > 0 && logprobs.length === token_ids.length,
      ),
    ).toBe(true);
    // 4 prompts of 4 attempts in an epoch; 10 attempts are 4, 4 and 2.
    expect(run.server.requests.slice(-9).map(({ n }) => n)).toEqual([4, 4, 4, 4, 4, 4, 2, 2, 2]);
    expect(run.server.requests.slice(-9).every(({ prompt }) => prompt.length <= 4)).toBe(true);
    expect(new Set(run.server.requests.slice(-9).map(({ seed }) => seed)).size).toBe(9);
  });

  it('take gradients of the second half’s rollouts alone, with p̂ of the first as baseline, and train nothing', async () => {
    const run = await someRun(fields, player);
    const { input, traces, outcomes } = await probed(run);
    const measured = await run.records<GradientRecord>(
      await run.activities.measureGradients({ ...input, traces, outcomes }),
    );
    const { job, records } = run.trainer.jobs.at(-1)!;
    expect(job).toMatchObject({
      kind: 'gradient_norms',
      trainer_state: null,
      reference: null,
      model: { path: run.dependencies.store.path(input.state.agent.checkpoint!) },
      settings: { learning_rate: 0, policy_version: input.state.agent.name },
    });
    expect(records).toHaveLength(10 * 12);
    const all = await run.records<ProbeTraceRecord>(traces);
    for (const [step, { task_id, solved }] of (await run.records<ProbeOutcomeRecord>(outcomes)).entries()) {
      const own = records.filter(({ group_id }) => group_id === task_id);
      const rate = successRate(solved.slice(0, 12)).rate!;
      expect(new Set(own.map((record) => record.step))).toEqual(new Set([step]));
      expect(own.map(({ advantage }) => advantage)).toEqual(
        solved.slice(12).map((success) => success - rate),
      );
      expect(own[0]!.token_ids).toEqual(
        all
          .filter((trace) => trace.task_id === task_id && trace.attempt === 12)
          .flatMap(({ sampled }) => [...sampled.prompt_token_ids, ...sampled.token_ids]),
      );
      // The fake trainer's gradients have length 1.
      const gradient = measured.find((record) => record.task_id === task_id)!;
      expect(gradient).toMatchObject({ success_rate: rate, rollouts: 12, squared_score: 1 });
      expect(gradient.squared_norm).toBeCloseTo(
        solved.slice(12).reduce<number>((sum, success) => sum + (success - rate) ** 2, 0) / 12,
        12,
      );
    }
  });

  it('ask and measure nothing twice', async () => {
    const run = await someRun(fields, player);
    const { input, tasks, traces, outcomes } = await probed(run);
    const gradients = await run.activities.measureGradients({ ...input, traces, outcomes });
    const [requests, jobs] = [run.server.requests.length, run.trainer.jobs.length];
    const again = run.again();
    expect(await again.probeTasks({ ...input, tasks: 10 })).toEqual(tasks);
    expect(await again.probeAttempts({ ...input, tasks, attempts: 24 })).toEqual({ traces, outcomes });
    expect(await again.measureGradients({ ...input, traces, outcomes })).toEqual(gradients);
    expect([run.server.requests.length, run.trainer.jobs.length]).toEqual([requests, jobs]);
  });
});
