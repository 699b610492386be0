import { expect, it } from 'vitest';
import { answerText, MAX_ANSWER_TEXT, questionText } from '../../src/evaluation/answer-text.ts';

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

it('a question is shown by its messages and the names of its tools', () => {
  expect(
    questionText({
      messages: [
        { role: 'system', content: 'You call tools.' },
        { role: 'user', content: 'How warm is it?' },
        { role: 'assistant', content: '', toolCalls: [{ id: '1', name: 'heat', arguments: '{}' }] },
        { role: 'tool', content: '21', toolCallId: '1' },
      ],
      tools: [{ name: 'heat', description: 'Measures.', parameters: {} }],
    }),
  ).toBe('system: You call tools.\n\nuser: How warm is it?\n\nassistant: heat {}\n\ntool: 21\n\ntools: heat');
});

it('of a long question the beginning and the end are kept', () => {
  const text = questionText({
    messages: [
      { role: 'system', content: `Be brief.${'s'.repeat(9_000)}` },
      { role: 'user', content: `Given:${'😀'.repeat(30_000)}Plan my trip.` },
    ],
  });
  expect(text.length).toBeLessThan(3_200);
  expect(text).toMatch(/^system: Be brief\.s+… \(8017 characters more\) …s+\n\nuser: Given:/);
  expect(text.endsWith('Plan my trip.')).toBe(true);
  expect(text.isWellFormed()).toBe(true);
});
