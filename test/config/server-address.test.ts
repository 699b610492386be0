import { describe, expect, it } from 'vitest';
import { httpUrl, plainHttpUrl, searchUrl } from '../../src/validation/server-address.ts';

const problemOf = (schema: typeof searchUrl, address: string): string | undefined =>
  schema.safeParse(address).error?.issues[0]!.message;

describe('the address of a server', () => {
  it.each(['http://vllm:8000/v1', 'https://api.openai.com/v1', 'http://127.0.0.1:8000', 'endpoint:vllm'])(
    'is %s',
    (address) =>
      expect([httpUrl, searchUrl].map((schema) => problemOf(schema, address))).toEqual([
        undefined,
        undefined,
      ]),
  );

  // Clients add a path to the end of an address: with these it would not be the path that is asked for.
  it.each([
    ['http://a/admin?x=', 'expected an address without "?"'],
    ['http://a/v1?', 'expected an address without "?"'],
    ['http://a/admin#', 'expected an address without "#"'],
    ['endpoint:a?b', 'expected an address without "?"'],
    ['http://user:secret@a/v1', 'expected an address without user and password'],
    ['ENDPOINT:vllm', 'expected `endpoint:` in lower case'],
    ['Endpoint:vllm', 'expected `endpoint:` in lower case'],
  ])('is not %s', (address, problem) => expect(problemOf(httpUrl, address)).toContain(problem));

  it('may have a query if it is that of a search endpoint, but no fragment', () => {
    for (const schema of [searchUrl, plainHttpUrl]) {
      expect(problemOf(schema, 'https://a/search?q={query}&n=5')).toBeUndefined();
      expect(problemOf(schema, 'https://a/search#{query}')).toContain('without "#"');
    }
  });
});
