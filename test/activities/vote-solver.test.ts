import { expect, it } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { estimateUsage } from '../../src/cli/lib/cost-lines.ts';
import { estimateRun } from '../../src/cli/lib/estimates.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { TaskRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { languageTask } from '../../src/worlds/language/task.ts';
import { truthOf } from '../../test-support/fake-language-model.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel } from './some-run.ts';
import { runWithApi } from './two-servers.ts';

const solver = { type: 'openai', baseUrl: 'endpoint:api', model: 'solver', api: 'chat', maxTokens: 300 };

/** Both policies on the embedded server; labels, of which half are wrong, are put to the API's vote. */
async function votedRun() {
  const model = await pretrainedModel();
  return runWithApi(
    { 'agent.model': model, 'environment.model': model, 'world.vote': { votes: 5, agreement: 0.6, solver } },
    { player: { wrongLabels: 0.5, questions: 0.8 } },
  );
}

it('votes on labels in the place of the initial agent, as its server takes questions', async () => {
  const run = await votedRun();
  const { metrics } = await plainEpoch(run.activities, run.plan, run.prepared);
  const opened = await run.ports.runFolder('split').open<LedgerEntry>();
  const [, line] = await opened!.ledger.read();
  const tasks = await collect(run.ports.store.records<TaskRecord>(line!.outputs.tasks!));
  const isWrong = (spec: string): boolean => {
    const { prompt, evaluation } = languageTask(spec);
    return evaluation.kind === 'exact' && evaluation.answers[0] !== truthOf(prompt);
  };
  const unconfirmed = tasks.filter(({ invalid_reason: reason }) => reason === 'label_unconfirmed');
  expect(unconfirmed.length).toBeGreaterThan(0);
  expect(unconfirmed.every(({ sampled }) => isWrong(sampled!.text))).toBe(true);
  expect(tasks.some(({ spec }) => spec !== null && isWrong(spec))).toBe(false);

  expect(run.api.chats.length).toBe(metrics['env/label_votes']);
  expect(run.api.chats.every(({ model, max_tokens: most }) => model === 'solver' && most === 300)).toBe(true);
  expect(run.api.chats.some(({ messages: [message] }) => message!.content.includes('<|im_'))).toBe(false);
  expect(run.own.requests.filter(({ n }) => n === 5)).toEqual([]);
  const [, recorded] = await run.metrics();
  expect(recorded!['usage/solver_completion_tokens']).toBeGreaterThan(0);
  expect(recorded!['usage/simulator_completion_tokens']).toBeUndefined();

  const again = await votedRunAs(run);
  await plainEpoch(again.activities, again.plan, again.prepared);
  expect(await again.ledger()).toBe(await run.ledger());
});

const votedRunAs = ({ file }: Awaited<ReturnType<typeof votedRun>>) =>
  runWithApi(file, { player: { wrongLabels: 0.5, questions: 0.8 } });

it('is estimated apart', async () => {
  const { file } = await votedRun();
  const experiment = parseExperiment(file);
  const world = createWorld(experiment.world);
  const estimate = await estimateRun(experiment, world);
  const [, epoch] = estimateUsage(experiment, world, estimate);
  // Five votes on each of six tasks, each a request of its own.
  expect(epoch!.servers).toMatchObject({ solver: { tokensSampled: 6 * 5 * 300 } });
  expect(estimate.resources.prompts.vote).toBe(3 * 6 * 5);
});
