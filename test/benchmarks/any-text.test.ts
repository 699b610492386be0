import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { apiBank } from '../../src/benchmarks/api-bank/api-bank.ts';
import { bamboogle } from '../../src/benchmarks/bamboogle/bamboogle.ts';
import { canonicalJson } from '../../src/store/canonical-json.ts';
import { answer, opened, prompted, scripted } from './attempt.ts';

/** What a policy may write: marks of every format, cut and joined at random. */
const written = fc.string({
  unit: fc.constantFrom(
    '<tool_call>',
    '</tool_call>',
    '<think>',
    '</think>',
    '<answer>',
    '</answer>',
    '<response>',
    '{"name": ',
    '"parameters": ',
    '{',
    '}',
    '[',
    ']',
    '(',
    ')',
    "'",
    '"',
    '=',
    ',',
    ':',
    'Add',
    'null',
    '7',
    '\n',
    '\\',
    String.raw`\ud83d`,
    'é',
    '\ud800',
    ' ',
  ),
  maxLength: 60,
});

// Nobody listens there: a text that asks for a search is answered by `once` below.
const settings = { ...prompted, search: { url: 'http://127.0.0.1:1', apiKeyEnv: null } };

describe.each([...apiBank.suites, ...bamboogle.suites])('$name', (suite) => {
  it.each(['prompt', 'native'] as const)('takes any text (%s)', async (toolFormat) => {
    if (suite.refuses({ ...settings, toolFormat }) !== null) return;
    const open = await opened(suite, { ...settings, toolFormat });
    const item = open.cases[3]!;
    await fc.assert(
      fc.asyncProperty(written, async (text) => {
        // Clients make what a server says well formed.
        const formed = text.toWellFormed();
        const said = answer(formed, [{ id: 'a', name: formed, arguments: formed }]);
        const { tools } = scripted([said, said, said, said]);
        const response: unknown = JSON.parse(
          canonicalJson(await open.attempt(item, { ...tools, once: () => Promise.resolve([] as never) })),
        );
        const [verdict] = await open.judge([{ item, response }], tools.signal);
        expect(verdict!.correct).toBe(verdict!.reason === null);
        expect(await open.judge([{ item, response }], tools.signal)).toEqual([verdict]);
      }),
      { numRuns: 300 },
    );
  });
});
