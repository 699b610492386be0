import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { JournaledClient } from '../../src/rollouts/journaled-client.ts';
import { Superseded } from '../../src/store/errors.ts';
import { openWork } from '../../src/store/work-folder.ts';
import type { WorkFolder } from '../../src/store/work-folder.ts';
import { memoryFolder } from '../store/temporary-folder.ts';

type Response = { text: string };

/** A line of a journal on disk, as runs of earlier versions left it. */
const line = (json: string): string => `${createHash('sha256').update(json).digest('hex')} ${json}\n`;

const throwDamage = (damage: { problem: string }): void => {
  throw new Error(damage.problem);
};

/** A line that has the hash of its request, which is the text itself. */
const recordedLine = (text: string): string =>
  line(
    `{"request_hash":"${createHash('sha256').update(JSON.stringify(text)).digest('hex')}","response":{"text":"${text}"}}`,
  );

async function someWork(onDamage = throwDamage) {
  const key = { experiment: 'some', epoch: 1, phase: 'roll-out', inputHash: '0'.repeat(64) };
  const work: WorkFolder = await openWork(await memoryFolder(), key);
  const sent: string[] = [];
  const heartbeats: unknown[] = [];
  const signal = new AbortController();
  let failure: Error | undefined;
  const open = () =>
    JournaledClient.open<string, Response>(
      {
        activityContext: () => ({
          signal: signal.signal,
          heartbeat: (details) => heartbeats.push(details),
          stalled: new AbortController().signal,
          onHeartbeat: () => undefined,
          isWorkerStopping: () => false,
          isSuperseded: () => false,
        }),
        onDamage,
      },
      () => Promise.resolve(work),
      {
        responses: 'requests.jsonl',
        failures: 'failed-requests.jsonl',
        send: (request) => {
          sent.push(request);
          return failure === undefined ? Promise.resolve({ text: request }) : Promise.reject(failure);
        },
        countTokens: ({ text }) => text.length,
        countPromptTokens: ({ text }) => 10 * text.length,
        heartbeatDetails: ({ completed }) => ({ requests: completed }),
      },
    );
  return {
    open,
    sent,
    heartbeats,
    signal,
    path: (file: string) => join(work.path, file),
    failWith: (error: Error | undefined) => {
      failure = error;
    },
  };
}

describe('a journaled client', () => {
  it('writes a line a response, and a retry sends only what is missing', async () => {
    const { open, sent, heartbeats, path } = await someWork();
    {
      await using client = await open();
      await client.complete('a');
      await client.complete('bb');
    }
    expect(await readFile(path('requests.jsonl'), 'utf8')).toBe(recordedLine('a') + recordedLine('bb'));
    await using client = await open();
    const responses = [await client.complete('a'), await client.complete('bb'), await client.complete('ccc')];
    expect(responses).toEqual([{ text: 'a' }, { text: 'bb' }, { text: 'ccc' }]);
    expect(client.usage).toEqual({ tokens: 6, promptTokens: 60, retried: 0 });
    expect(sent).toEqual(['a', 'bb', 'ccc']);
    expect(heartbeats).toEqual([{ requests: 1 }, { requests: 2 }, { requests: 3 }]);
  });

  it('requests anew what follows from the first line of another request', async () => {
    const damages: string[] = [];
    const { open, sent, path } = await someWork(({ problem }) => void damages.push(problem));
    await writeFile(
      path('requests.jsonl'),
      recordedLine('a') + recordedLine('b') + recordedLine('b') + recordedLine('c'),
    );
    {
      await using client = await open();
      const answers = [];
      for (const request of ['a', 'b', 'c', 'd']) answers.push((await client.complete(request)).text);
      expect(answers).toEqual(['a', 'b', 'c', 'd']);
    }
    expect(sent).toEqual(['c', 'd']);
    expect(damages).toEqual(['line 3 answers another request; it and what follows is cut and done again']);
    const lines = ['a', 'b', 'c', 'd'].map(recordedLine).join('');
    expect(await readFile(path('requests.jsonl'), 'utf8')).toBe(lines);
    await using again = await open();
    for (const request of ['a', 'b', 'c', 'd']) await again.complete(request);
    expect(sent).toHaveLength(2);
  });

  it('takes up the journals of an earlier version', async () => {
    const { open, sent, path } = await someWork();
    await writeFile(path('requests.jsonl'), line('{"text":"recorded"}'));
    await writeFile(path('failed-requests.jsonl'), line('{"error":"ModelUnavailable","request":0}'));
    await using client = await open();
    expect(await client.complete('a')).toEqual({ text: 'recorded' });
    await client.complete('b');
    expect(sent).toEqual(['b']);
    expect(client.usage).toEqual({ tokens: 9, promptTokens: 90, retried: 1 });
  });

  it('counts failed requests over all attempts, and can send the same request again', async () => {
    const { open, failWith, path } = await someWork();
    {
      await using client = await open();
      await client.complete('a');
      failWith(new RangeError('busy'));
      await expect(client.complete('b')).rejects.toThrow('busy');
      failWith(undefined);
      expect(await client.complete('b')).toEqual({ text: 'b' });
    }
    expect(await readFile(path('failed-requests.jsonl'), 'utf8')).toBe(
      line('{"error":"RangeError","request":1}'),
    );
    await using client = await open();
    expect(client.usage).toEqual({ tokens: 0, promptTokens: 0, retried: 1 });
  });

  it('does not count a request that its own signal stops, and sends none after that', async () => {
    const { open, sent, signal } = await someWork();
    await using client = await open();
    signal.abort(new Error('the worker stops'));
    await expect(client.complete('a')).rejects.toThrow('the worker stops');
    expect(client.usage.retried).toBe(0);
    expect(sent).toEqual([]);
  });

  it('records nothing more once a newer attempt has claimed the work', async () => {
    const { open } = await someWork();
    await using older = await open();
    await older.complete('a');
    await using newer = await open();
    await expect(older.complete('b')).rejects.toBeInstanceOf(Superseded);
    expect(await newer.complete('a')).toEqual({ text: 'a' });
  });

  it('opens further journals under the same token', async () => {
    const { open } = await someWork();
    await using client = await open();
    const effects = await client.openJournal<string>('effects.jsonl');
    await effects.append('search');
    await client.complete('a');
    await using newer = await open();
    expect((await newer.openJournal('effects.jsonl')).entries).toEqual(['search']);
    await expect(effects.append('late')).rejects.toBeInstanceOf(Superseded);
  });
});

it.runIf(existsSync('/proc/self/fd'))('closes its files if one of them cannot be opened', async () => {
  const { open, path } = await someWork();
  const folder = path('');
  const openFiles = async (): Promise<string[]> => {
    const links = await readdir('/proc/self/fd');
    const files = await Promise.all(links.map((link) => readlink(`/proc/self/fd/${link}`).catch(() => '')));
    return files.filter((file) => file.startsWith(folder));
  };
  await mkdir(path('failed-requests.jsonl'));
  await expect(open()).rejects.toThrow();
  expect(await openFiles()).toEqual([]);
  await rmdir(path('failed-requests.jsonl'));
  const client = await open();
  expect(await openFiles()).toHaveLength(2);
  await mkdir(path('logprobs.jsonl'));
  await expect(client.openJournal('logprobs.jsonl')).rejects.toThrow();
  expect(await openFiles()).toEqual([]);
  await client.close();
});
