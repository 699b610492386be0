import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { estimateUsage } from '../../src/cli/lib/cost-lines.ts';
import { estimateRun } from '../../src/cli/lib/estimates.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel } from './some-run.ts';
import { runWithApi } from './two-servers.ts';

/** Texts about one thing, which share no word. */
const [REFERENCE, PARAPHRASE, UNRELATED] = ['a big animal', 'one huge beast', 'some tiny stone'];
const TOO_LONG = 'x'.repeat(300);
const direction: Record<string, number[]> = {
  [REFERENCE]: [4, 3],
  [PARAPHRASE]: [3, 4],
  [UNRELATED]: [-3, 4],
};
const embedding = (text: string): number[] | null => (text.length > 200 ? null : (direction[text] ?? [0, 1]));

async function similarRun(fields: Record<string, unknown> = {}, weights?: object) {
  const model = weights ?? (await pretrainedModel());
  const server = await FakeModelServer.start({ model: () => 'never', embedding });
  onTestFinished(() => server[Symbol.asyncDispose]());
  let answers = 0;
  const run = await runWithApi(
    {
      'agent.model': model,
      'environment.model': model,
      'world.kinds': ['execution', 'reference'],
      'world.vote': null,
      'world.similarity': {
        type: 'openai',
        baseUrl: 'endpoint:embeddings',
        model: 'encoder',
        solvedFrom: 0.9,
      },
      ...fields,
    },
    {
      endpoints: { embeddings: { baseUrl: server.url } },
      model: (_, random, name) => {
        if (name.startsWith('environment'))
          return JSON.stringify({
            prompt: `What is an elephant? Quiz ${random.int(10_000)}.`,
            tools: [],
            evaluation: { kind: 'reference', answer: REFERENCE },
          });
        const answer = [REFERENCE, PARAPHRASE, UNRELATED, TOO_LONG][answers++ % 4]!;
        return `Answer: ${answer}`;
      },
    },
  );
  return { ...run, server };
}

async function firstEpoch(run: Awaited<ReturnType<typeof similarRun>>) {
  const { metrics } = await plainEpoch(run.activities, run.plan, run.prepared);
  const opened = await run.ports.runFolder('split').open<LedgerEntry>();
  const [, line] = await opened!.ledger.read();
  const { tasks, traces, rewards, scores } = line!.outputs;
  const records = <Entry>(files: Parameters<typeof run.ports.store.records>[0][]) =>
    Promise.all(files.map((file) => collect(run.ports.store.records<Entry>(file)))).then((all) => all.flat());
  return {
    metrics,
    tasks: await records<TaskRecord>([tasks!]),
    traces: await records<TraceRecord>(traces),
    rewards: await records<RewardRecord>([rewards!]),
    scores: await records<ScoreRecord>([scores!]),
  };
}

it('rewards free-form answers by the cosine of embeddings', async () => {
  const run = await similarRun();
  const { rewards, traces, tasks } = await firstEpoch(run);
  const similarityOf = new Map(
    rewards.map(({ answer, reward, second_reward: second }) => {
      expect(second).toBe(reward);
      return [answer.replace('Answer: ', ''), reward];
    }),
  );
  expect(similarityOf.get(REFERENCE)).toBeCloseTo(1, 12);
  expect(similarityOf.get(PARAPHRASE)).toBeCloseTo(24 / 25, 12);
  expect(similarityOf.get(UNRELATED)).toBe(0);
  expect(similarityOf.get(TOO_LONG)).toBe(0);

  const rewardOf = new Map(rewards.map(({ id, reward }) => [id, reward]));
  for (const { id, sampled } of traces) expect(sampled.similarity).toBe(rewardOf.get(id));
  // Held-out tasks are programs, which code judges alone.
  expect(tasks.every(({ kind }) => kind === 'reference')).toBe(true);
});

it('counts an answer as solved from its own threshold on', async () => {
  const lenient = await firstEpoch(await similarRun());
  const strict = await firstEpoch(
    await similarRun({
      'world.similarity': {
        type: 'openai',
        baseUrl: 'endpoint:embeddings',
        model: 'encoder',
        solvedFrom: 0.97,
      },
    }),
  );
  const successes = ({ scores }: typeof lenient): number =>
    scores.reduce((total, score) => total + score.successes, 0);
  expect(successes(lenient)).toBe(2 * successes(strict));
  expect(successes(strict)).toBeGreaterThan(0);
});

it('compares random answers in the same way, so that luck is seen', async () => {
  const run = await similarRun();
  direction[REFERENCE] = [0, 1];
  onTestFinished(() => void (direction[REFERENCE] = [4, 3]));
  const { scores, traces } = await firstEpoch(run);
  // All texts that are not named point where the reference points now.
  expect(scores.every(({ random_rate: rate }) => rate === 1)).toBe(true);
  const first = traces.filter(({ random_similarities: random }) => random !== undefined);
  expect(first.map(({ id }) => id)).toEqual(
    traces.map(({ id }) => id).filter((id) => id.endsWith('/rollout-00')),
  );
});

it('counts what the model of embeddings reads, apart and among all tokens', async () => {
  const run = await similarRun();
  await firstEpoch(run);
  const [, metrics] = await run.metrics();
  const read = run.server.embeddingRequests
    .filter(({ input }) => !input.some((text) => text.length > 200))
    .reduce((total, { input }) => total + input.join('').length, 0);
  expect(metrics!['usage/similarity_prompt_tokens']).toBe(read);
  expect(metrics!['usage/similarity_completion_tokens']).toBe(0);
  expect(metrics!['usage/prompt_tokens']).toBeGreaterThan(read);
  expect(
    run.server.embeddingRequests.every(({ model, input }) => model === 'encoder' && input.length <= 32),
  ).toBe(true);
  const experiment = parseExperiment(run.file);
  const world = createWorld(experiment.world);
  const [, epoch] = estimateUsage(experiment, world, await estimateRun(experiment, world));
  expect(epoch!.servers!.similarity!.tokensRead).toBeGreaterThan(read);
});

it('asks again only for what was not recorded', async () => {
  // Its path is in the ledger.
  const model = await pretrainedModel();
  const run = await similarRun({}, model);
  const undisturbed = await similarRun({}, model);
  await plainEpoch(undisturbed.activities, undisturbed.plan, undisturbed.prepared);
  const before = run.server.embeddingRequests.length;
  // The first answers: together, then each of four texts alone. After them, random ones.
  run.server.nextFaults.push(...Array<undefined>(5), 'server error');
  await expect(plainEpoch(run.activities, run.plan, run.prepared)).rejects.toMatchObject({
    name: 'ModelUnavailable',
  });
  await plainEpoch(run.activities, run.plan, run.prepared);
  expect(await run.ledger()).toBe(await undisturbed.ledger());
  expect(run.server.embeddingRequests.length - before).toBe(undisturbed.server.embeddingRequests.length + 1);
});

it('leaves a run without the setting as it is', async () => {
  const run = await similarRun({ 'world.similarity': undefined });
  const { traces, rewards } = await firstEpoch(run);
  expect(run.server.embeddingRequests).toEqual([]);
  expect(JSON.stringify(traces)).not.toContain('similarit');
  expect(rewards.some(({ answer, reward }) => answer.includes(PARAPHRASE) && reward === 0)).toBe(true);
  expect(await readFile(join(run.ports.runFolder('split').metricsFile), 'utf8')).not.toContain('similarity');
});
