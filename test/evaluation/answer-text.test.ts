import { expect, it } from 'vitest';
import { answerText, MAX_ANSWER_TEXT } from '../../src/evaluation/answer-text.ts';

/** Responses as the suites keep them. */
it.each([
  ['text of a call in API-Bank', { text: '<tool_call>x</tool_call>' }, '<tool_call>x</tool_call>'],
  ['native calls', { calls: [{ name: 'add', arguments: '{"a":1}' }] }, 'add {"a":1}'],
  [
    'turns of BFCL, with text and native calls',
    {
      turns: [
        [
          { text: 'First', toolCalls: [] },
          { text: '', toolCalls: [{ name: 'ls', arguments: '{}' }] },
        ],
        [{ text: 'Done', toolCalls: [] }],
      ],
    },
    'First\nls {}\nDone',
  ],
  ['a question that was too long', { turns: [[{ text: '', toolCalls: [], unread: true }]] }, ''],
  ['Bamboogle, with what was searched', { text: 'Oslo', judgment: null, rounds: 0, queries: [] }, 'Oslo'],
  ['a plan', { answer: '[{"days":1}]', steps: 0, end: 'stop' }, '[{"days":1}]'],
  ['commands of a game', { commands: ['go to desk 1', 'look'], tooLong: false }, 'go to desk 1\nlook'],
  ['anything else', { score: 3 }, '{"score":3}'],
])('is shown for people: %s', (_, response, text) => {
  expect(answerText(response)).toBe(text);
});

it('is cut where it is long, and says so', () => {
  const text = answerText({ text: 'a'.repeat(MAX_ANSWER_TEXT - 1) + '😀' + 'b'.repeat(99) });
  expect(text).toHaveLength(MAX_ANSWER_TEXT + '… (100 characters more)'.length);
  expect(text.endsWith('… (100 characters more)')).toBe(true);
  expect(text.isWellFormed()).toBe(true);
});
