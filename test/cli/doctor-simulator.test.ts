import { expect, onTestFinished, test } from 'vitest';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { checksOn, find } from './file-checks.ts';

const checksWith = async (server: { baseUrl: string; model: string }) =>
  checksOn(
    { type: 'embedded' },
    {
      arm: { type: 'random' },
      'environment.model': { type: 'pretrained', path: 'writer' },
      'environment.serving': { type: 'openai', ...server },
    },
  );

test('a simulator’s own server is asked for its model, whose folder this machine does not need', async () => {
  const server = await FakeModelServer.start({ model: () => '', baseModel: { name: 'writer' } });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const checks = await checksWith({ baseUrl: server.url, model: 'writer' });
  expect(find(checks, 'Model server')).toMatchObject({ state: 'ok', finding: server.url });
  expect(find(checks, 'Policy server')).toMatchObject({ state: 'note' });
  expect(find(checks, 'Model writer')).toBeUndefined();
  expect(find(checks, 'Longest simulator prompt')).toMatchObject({ state: 'note' });

  expect(find(await checksWith({ baseUrl: server.url, model: 'reader' }), 'Model server')).toMatchObject({
    state: 'missing',
    finding: `${server.url} does not serve reader`,
    remedy: 'correct environment.serving.model',
  });
});

test('a simulator’s own server that the operator has not listed is named', async () => {
  const checks = await checksWith({ baseUrl: 'https://api.example.com/v1', model: 'writer' });
  expect(find(checks, 'Endpoint')).toMatchObject({
    state: 'missing',
    finding: expect.stringContaining('https://api.example.com') as string,
  });
});
