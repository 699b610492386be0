import { expect, it, onTestFinished } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { begin, createActivities, plainEpoch } from '../../test-support/plain-epochs.ts';
import { pretrainedModel, smallFile } from '../activities/some-run.ts';
import { completing, someEvaluation } from './some-evaluation.ts';

it.each([
  ['that the run starts itself wakes a server', 'small.epoch-0001-0123abcd', ['wake']],
  ['of its own leaves it to the run to wake a server', 'by-hand', ['asked asleep: /v1/completions']],
])('an evaluation %s that was left asleep', async (_, id, expected) => {
  const model = await pretrainedModel();
  const file = withFields(smallFile, {
    'agent.model': model,
    'environment.model': model,
    serving: { type: 'vllm', baseUrl: 'http://127.0.0.1:1/v1', sleepWhileTraining: true },
  });
  const playing = fakeToolboxModel(parseExperiment(file).world);
  const server = await FakeModelServer.start({
    model: (prompt, ...rest) => (/\d \+ \d/.test(prompt) ? completing : playing)(prompt, ...rest),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { dependencies, run } = await someEvaluation({ server });
  const activities = createActivities(dependencies);
  const { plan, prepared } = await begin(activities, 'small', file);
  await plainEpoch(activities, plan, prepared);
  server.isAsleep = true;
  server.sleepLog.length = 0;
  await run({ policy: { type: 'run', run: 'small', api: 'completions' } }, id);
  expect([...new Set(server.sleepLog)]).toEqual(expected);
});
