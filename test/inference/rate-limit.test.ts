import type * as timers from 'node:timers/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ModelUnavailable } from '../../src/inference/policy-client.ts';
import { waitOutRateLimit } from '../../src/inference/rate-limit.ts';
import { createModelClients } from '../../src/worker/model-servers.ts';
import type { KeepAlive } from '../../src/async/keep-alive.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';

vi.mock('node:timers/promises', async (importOriginal) => {
  const original = await importOriginal<typeof timers>();
  return { ...original, setTimeout: vi.fn(original.setTimeout) };
});
afterEach(() => void vi.mocked(pause).mockReset());

const never = new AbortController().signal;
const question = { model: 'any', seed: 1, temperature: 0, maxTokens: 40 };
const questionOf = (content: string) => ({ ...question, messages: [{ role: 'user' as const, content }] });

/** A server that answers 429 to its first requests. */
async function limitedServer(refusals: number): Promise<FakeModelServer> {
  let left = refusals;
  const server = await FakeModelServer.start({
    model: () => '',
    chat: ([message]) => (left-- > 0 ? 429 : message!.content),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

/** The chat client of a worker for these servers. */
const chatOf = (servers: readonly { url: string }[], send: KeepAlive = (_, request) => request()) =>
  createModelClients(
    { policyServer: 'http://127.0.0.1:1/v1', vllmServer: undefined },
    () => servers.map(({ url: baseUrl }) => ({ baseUrl, apiKey: undefined })),
    send,
  ).chatClient({ baseUrl: 'http://127.0.0.1:1/v1', apiKeyEnv: null }, 2_000);

const limited = (retryAfterMs?: number) =>
  new ModelUnavailable('too many requests', {
    server: 'http://127.0.0.1:1/v1',
    isRateLimit: true,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

describe('a server that limits the rate of requests', () => {
  it('is asked again, and the attempt heartbeats while it waits', async () => {
    const server = await limitedServer(1);
    const limits: number[] = [];
    const chat = chatOf([server], (limitMs, request) => {
      limits.push(limitMs);
      return request();
    });
    expect(await chat.answer(questionOf('a'), never)).toMatchObject({ text: 'a' });
    expect(server.chats).toHaveLength(2);
    expect(limits).toEqual([120_000, 2_000, 2_000]);
  });

  it('is left for another one that has room', async () => {
    const [full, idle] = [await limitedServer(Infinity), await limitedServer(0)];
    const chat = chatOf([full, idle]);
    for (const seed of [0, 1]) await chat.answer({ ...questionOf('a'), seed }, never);
    expect(pause).not.toHaveBeenCalled();
    expect(idle.chats).toHaveLength(2);
    expect(full.chats).toHaveLength(1);
  });

  it('is waited for though another one is away', async () => {
    const limitedOnce = await limitedServer(1);
    const away = { url: 'http://127.0.0.1:1/v1' };
    const chat = chatOf([limitedOnce, away]);
    for (const seed of [0, 1])
      expect(await chat.answer({ ...questionOf('a'), seed }, never)).toMatchObject({ text: 'a' });
    expect(limitedOnce.chats).toHaveLength(3);
  });
});

describe('the wait', () => {
  /** When the requests were sent, in ms, until the wait was given up. */
  async function times(retryAfterMs?: number): Promise<number[]> {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.mocked(pause).mockImplementation((waitMs) => {
      vi.setSystemTime(Date.now() + waitMs!);
      return Promise.resolve(undefined as never);
    });
    const began = Date.now();
    const sent: number[] = [];
    const request = () => {
      sent.push(Date.now() - began);
      return Promise.reject(limited(retryAfterMs));
    };
    await expect(waitOutRateLimit(request, never)).rejects.toMatchObject({ isRateLimit: true });
    return sent;
  }

  it('is doubled each time, up to two minutes, even if the server says that there is none', async () => {
    const doubled = [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000];
    expect(await times()).toEqual(doubled);
    expect(await times(0)).toEqual(doubled);
  });

  it('is as long as the server says, or is left to the workflow', async () => {
    expect(await times(50_000)).toEqual([0, 50_000, 100_000]);
    expect(await times(120_000)).toEqual([0]);
  });

  it('ends with the attempt', async () => {
    const reason = new Error('cancelled');
    const controller = new AbortController();
    const waiting = waitOutRateLimit(() => Promise.reject(limited(100_000)), controller.signal);
    setTimeout(() => controller.abort(reason), 10);
    await expect(waiting).rejects.toBe(reason);
  });
});
