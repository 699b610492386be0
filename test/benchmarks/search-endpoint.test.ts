import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { search } from '../../src/benchmarks/bamboogle/search-endpoint.ts';

let server: Server;
let origin: string;
const paths: (string | undefined)[] = [];
beforeAll(async () => {
  server = createServer(({ url, headers }, response) => {
    paths.push(url);
    const key = headers['x-api-key'];
    response.end(
      key === undefined ? '["a hit"]' : JSON.stringify([`of ${String(key)}`, { title: key, text: key }]),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => void paths.splice(0));

const find = (template: string, query: string) =>
  search({ url: `${origin}${template}`, key: undefined }, query, new AbortController().signal);

test.each(['..', '.', '%2e%2e', '../../admin'])('a query of %j reaches no other address', async (query) => {
  await find('/api/search/{query}', query);
  await find('/api/{query}/search', query);
  for (const path of paths) expect(path?.split('/'), path).toHaveLength(4);
});

test.each(['../../admin', 'a/../../admin', '..\\admin', '..;/admin', 'a/..'])(
  'a query of %j is not asked in a path: a server may decode its slashes',
  async (query) => {
    expect(await find('/api/search/{query}', query)).toEqual([]);
    expect(await find('/api/search/{query}/best', query)).toEqual([]);
    expect(paths).toEqual([]);
    expect(await find('/api/search?q={query}', query)).toHaveLength(1);
  },
);

test('a key that the endpoint repeats is in no hit, which a model reads', async () => {
  const { signal } = new AbortController();
  expect(await search({ url: `${origin}/search`, key: 'the-search-key' }, 'a', signal)).toEqual([
    { title: '', text: 'of (key)' },
    { title: '(key)', text: '(key)' },
  ]);
});

test('a query of dots finds nothing in a path, and what there is after it', async () => {
  expect(await find('/api/search/{query}', '..')).toEqual([]);
  expect(paths).toEqual([]);
  expect(await find('/api/search?q={query}', '..')).toEqual([{ title: '', text: 'a hit' }]);
  expect(await find('/api/search/{query}', 'AC/DC ... or .NET/C++ v1..2?')).toHaveLength(1);
  expect(await find('/api/search/{query}', 'what is 3.5% of "ä"? (it’s !*~)')).toHaveLength(1);
  expect(paths).toEqual([
    '/api/search?q=..',
    `/api/search/${encodeURIComponent('AC/DC ... or .NET/C++ v1..2?')}`,
    `/api/search/${encodeURIComponent('what is 3.5% of "ä"? (it’s !*~)')}`,
  ]);
});
