import { expect, it } from 'vitest';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { EndpointRefused } from '../../src/inference/endpoints.ts';
import { putServersToSleep, wakeServers } from '../../src/inference/sleeping-servers.ts';
import { createAdapterServer } from '../../src/inference/create-adapter-server.ts';
import { pretrainedModel, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

/** A run whose vLLM and trainer share a GPU: `serving.sleepWhileTraining`. */
async function sharedGpu(id?: string): Promise<SomeRun & { asleep: boolean[] }> {
  const serving = { type: 'vllm', baseUrl: 'http://127.0.0.1:1/v1', sleepWhileTraining: true };
  const model = await pretrainedModel();
  const run = await someRun({ serving, 'agent.model': model, 'environment.model': model }, {}, id);
  const asleep: boolean[] = [];
  run.trainer.afterResult = () => Promise.resolve(void asleep.push(run.server.isAsleep));
  return { ...run, asleep };
}

/** What happened to the server. Two that find it asleep may both wake it, which vLLM takes. */
const changesOf = ({ server: { sleepLog } }: SomeRun): string[] =>
  sleepLog.filter((event, index) => event !== sleepLog[index - 1]);

it('vLLM sleeps while jobs train, and is awake when it is asked for anything', async () => {
  const run = await sharedGpu();
  await run.epochs(2);
  // Two jobs an epoch; those of the preparation were before.
  expect(run.asleep).toEqual([true, true, true, true]);
  expect(changesOf(run)).toEqual(['sleep', 'wake', 'sleep', 'wake', 'sleep', 'wake']);
});

it('a server that sleeps is woken by whoever asks it next', async () => {
  const run = await sharedGpu();
  await run.epochs(1);
  const [server] = run.dependencies.adapterServers({ type: 'vllm', baseUrl: 'http://127.0.0.1:1/v1' });
  await server!.setAsleep(true);
  await run.epochs(2);
  expect(changesOf(run)).toEqual(['sleep', 'wake', 'sleep', 'wake', 'sleep', 'wake', 'sleep', 'wake']);
});

it('a server that a killed run left asleep sleeps on while the run trains again', async () => {
  const run = await sharedGpu();
  run.trainer.nextEndings.push({ reason: 'failed', message: 'killed' });
  await expect(run.epochs(1)).rejects.toThrow('killed');
  expect(run.server.isAsleep).toBe(true);
  await run.epochs(1);
  expect(changesOf(run)).toEqual(['sleep', 'wake', 'sleep', 'wake']);
});

it('a worker that may not ask the server says so', async () => {
  const serving = { type: 'vllm', sleepWhileTraining: true } as const;
  const clients = {
    adapterServers: () => {
      throw new EndpointRefused('http://127.0.0.1:1/v1', 'its key is missing');
    },
  };
  await expect(wakeServers(clients, serving)).rejects.toThrow('its key is missing');
  await expect(putServersToSleep(clients, serving)).rejects.toThrow('its key is missing');
});

it('one that is away holds nothing up, and one without a sleep mode is refused with what to start it with', async () => {
  const run = await sharedGpu();
  const serving = { type: 'vllm', sleepWhileTraining: true } as const;
  const away = createAdapterServer(serving, {
    baseUrl: 'http://127.0.0.1:1/v1',
    apiKey: undefined,
    timeoutMs: 5_000,
  });
  await expect(away.setAsleep(false)).rejects.toThrow(ModelUnavailable);
  await wakeServers({ adapterServers: () => [away] }, serving);
  const plain = createAdapterServer(serving, {
    baseUrl: `${run.server.url}/nowhere/v1`,
    apiKey: undefined,
    timeoutMs: 5_000,
  });
  await expect(plain.setAsleep(true)).rejects.toThrow('start it with --enable-sleep-mode');
});
