import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { open, scripted } from './bfcl-open.ts';

/** What a policy may write: marks of every format, cut and joined at random. */
const written = fc.string({
  unit: fc.constantFrom(
    '<tool_call>',
    '</tool_call>',
    '</think>',
    '```',
    '{"name": "cd", "arguments": ',
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
    'cd',
    'folder',
    'null',
    '7',
    '+',
    '*',
    '\n',
    '\\',
    'é',
    '\ud800',
    ' ',
  ),
  maxLength: 40,
});

describe.each(['simple_python', 'live_relevance', 'multi_turn_base', 'multi_turn_long_context_by_turn'])(
  '%s',
  (name) => {
    test.each(['prompt', 'native'] as const)('takes any text (%s)', async (toolFormat) => {
      const suite = await open(name, toolFormat);
      const item = suite.cases[0]!;
      await fc.assert(
        fc.asyncProperty(written, async (text) => {
          const { tools } = scripted([
            { text, toolCalls: [] },
            { text, toolCalls: [{ name: text, arguments: text }] },
          ]);
          const response = await suite.attempt(item, tools);
          const [verdict] = await suite.judge([{ item, response }], tools.signal);
          expect(verdict!.correct).toBe(verdict!.reason === null);
        }),
        { numRuns: 15 },
      );
      await suite.close();
    });
  },
);
