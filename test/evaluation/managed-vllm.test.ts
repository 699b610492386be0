import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { createVllmAdapters } from '../../src/inference/vllm-adapters.ts';
import { writeCanary } from '../../src/store/canaries.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import { withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { fakeCanary, weightsIn } from '../../test-support/fake-weights.ts';
import { begin, createActivities, plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel, smallFile } from '../activities/some-run.ts';
import { completing, someEvaluation } from './some-evaluation.ts';
import { resolveLoopback } from '../../test-support/permitted-servers.ts';

it('of a run is answered by the vLLM of the stack, which has more room than the run asked for', async () => {
  const model = await pretrainedModel();
  const file = withFields(smallFile, {
    'agent.model': model,
    'environment.model': model,
    serving: { type: 'vllm', maxModelLen: 1024 },
    'durability.requestTimeoutSeconds': 900,
  });
  const playing = fakeToolboxModel(parseExperiment(file).world);
  const server = await FakeModelServer.start({
    model: (prompt, ...rest) => (/\d \+ \d/.test(prompt) ? completing : playing)(prompt, ...rest),
    baseModel: { name: 'base', folder: model.path },
    contextLength: 4096,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const stack = { policyServer: 'http://127.0.0.1:9/v1', vllmServer: server.url };
  const made = createModelClients(stack, resolveLoopback, (_, send) => send());
  const policyClient = vi.fn(made.policyClient);
  const clients = { ...made, policyClient };
  const { dependencies, run, results } = await someEvaluation({ server, clients });

  const { store } = dependencies;
  const adapters = createVllmAdapters({ baseUrl: server.url, apiKey: undefined, timeoutMs: 20_000 });
  const activities = createActivities({ ...dependencies, adapterServers: () => [adapters] });
  const { plan, prepared } = await begin(activities, 'small', file);
  const { state } = await plainEpoch(activities, plan, prepared);
  const checkpoint = state.agent.checkpoint!;
  const folder = store.path(checkpoint);
  await writeFile(
    join(folder, 'adapter_config.json'),
    JSON.stringify({ base_model_name_or_path: model.path }),
  );
  await writeCanary(store.root, checkpoint, fakeCanary(weightsIn(folder)));
  // The stack was started again, for the evaluation.
  server.adapters.loaded.clear();

  await run({ policy: { type: 'run', run: 'small', api: 'completions' } });
  expect([...server.adapters.loaded.keys()]).toEqual([state.agent.name]);
  // A server that is slow in a run is slow in its evaluation, too.
  expect(policyClient).toHaveBeenLastCalledWith(expect.anything(), 900_000);
  expect((await results()).suites).toMatchObject([{ name: 'sums', correct: 19, cases: 23 }]);
});
