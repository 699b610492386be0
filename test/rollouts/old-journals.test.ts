import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { CompletionRequest } from '../../src/inference/policy-client.ts';
import { openCompletionClient, sampleRecord } from '../../src/rollouts/completion-requests.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { exampleExperiment } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { plainDependencies } from '../../test-support/plain-epochs.ts';
import { memoryFolder } from '../store/temporary-folder.ts';

const request: CompletionRequest = {
  model: 'agent',
  prompts: ['a', 'b'],
  n: 1,
  seed: 5,
  temperature: 1,
  maxTokens: 4,
};

it('continues a journal of one request for all prompts: its answers keep the request’s seed', async () => {
  const server = await FakeModelServer.start({ model: (prompt) => prompt });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const home = await memoryFolder();
  const work = await openWork(home, {
    experiment: 'some',
    epoch: 1,
    phase: 'roll-out',
    inputHash: '0'.repeat(64),
  });
  const old = ['a', 'b'].map((text, prompt) => ({
    prompt,
    sample: 0,
    text,
    prompt_token_ids: [1],
    token_ids: [2],
    logprobs: [-1],
    finish_reason: 'stop',
  }));
  const line = JSON.stringify(old);
  const hash = createHash('sha256').update(line).digest('hex');
  await writeFile(join(work.path, 'requests.jsonl'), `${hash} ${line}\n`);

  const experiment = {
    ...exampleExperiment(),
    serving: {
      type: 'openai' as const,
      baseUrl: server.url,
      apiKeyEnv: null,
      publish: 'vllm-lora' as const,
      returnsTokenIds: true,
      models: null,
    },
  };
  await using client = await openCompletionClient(
    plainDependencies(home, server.url, new FakeTrainer()),
    { experiment, world: undefined as never, inputHash: '', work: () => Promise.resolve(work) },
    { requests: 2, policies: [] },
  );
  const seedsOf = async (): Promise<number[]> =>
    (await client.complete(request)).map((completion) => sampleRecord(request, completion).seed);
  expect(await seedsOf()).toEqual([5, 5]);
  expect(server.requests).toEqual([]);
  expect(await seedsOf()).toEqual(server.requests.map(({ seed }) => seed));
  expect(server.requests).toHaveLength(2);
});
