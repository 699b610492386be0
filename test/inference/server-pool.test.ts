import { describe, expect, it } from 'vitest';
import { InvalidAnswer, ModelUnavailable, RequestRefused } from '../../src/inference/policy-client.ts';
import { callOneServer, createServerLoad } from '../../src/inference/server-pool.ts';

/** Servers that answer with their name, or fail. */
const pool = (...servers: (string | Error)[]) =>
  servers.map((client) => ({ client, load: createServerLoad() }));
const call = (servers: ReturnType<typeof pool>, key = 0): Promise<string> =>
  callOneServer(servers, key, (client) =>
    client instanceof Error ? Promise.reject(client) : Promise.resolve(client),
  );
const wrong = new InvalidAnswer('http://a/v1: answer is of model b');
const away = new ModelUnavailable('http://a/v1 does not answer');

describe('one of several servers', () => {
  it('that gives answers that fit no request is passed over', async () => {
    const servers = pool(wrong, 'right');
    for (const key of [0, 1, 2, 3]) expect(await call(servers, key)).toBe('right');
    expect(servers.map(({ load }) => load.failures)).toEqual([1, 0]);
    expect(servers.map(({ load }) => load.underWay)).toEqual([0, 0]);
  });

  it('that is away is what is waited for, if the answers of the others fit no request', async () => {
    await expect(call(pool(wrong, away))).rejects.toBe(away);
    await expect(call(pool(away, wrong))).rejects.toBe(away);
    await expect(call(pool(wrong, wrong))).rejects.toBe(wrong);
  });

  it('that refuses a request refuses it for all', async () => {
    const refused = new RequestRefused('http://a/v1 answered 422');
    await expect(call(pool(refused, 'right'))).rejects.toBe(refused);
  });
});
