import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Conversation, normalizeCommand, parseCommand } from '../../src/benchmarks/alfworld/conversation.ts';

describe('the command in an answer', () => {
  test.each([
    ['Action: go to desk 1', 'go to desk 1'],
    ['Thought: the mug.\nAction: go to desk 1\n', 'go to desk 1'],
    ['Action: look\nNo, rather:\n**Action:** Go to desk 1.', '** Go to desk 1.'],
    ['<think>Action: look</think>\nAction: go to desk 1', 'go to desk 1'],
    ['Action: look <action>go to\n desk 1</action>', 'go to desk 1'],
    ['I am thinking.\n\n> go to desk 1\n\n', '> go to desk 1'],
    ['', ''],
    ['Action:', ''],
    [`Action: ${'x'.repeat(500)}`, 'x'.repeat(200)],
    [`Action: a${'😀'.repeat(150)}`, `a${'😀'.repeat(99)}\ufffd`],
  ])('%j', (text, command) => expect(parseCommand(text)).toBe(command));

  it('is one line, and short, whatever was written', () => {
    const written = fc.string({
      unit: fc.constantFrom(
        '<think>',
        '</think>',
        '<action>',
        '</action>',
        'Action:',
        'go to desk 1',
        'put ',
        ' in ',
        '.',
        '"',
        '>',
        '\n',
        '\r',
        '\u2028',
        '\ud800',
        ' ',
        'É',
      ),
      maxLength: 80,
    });
    fc.assert(
      fc.property(written, (text) => {
        const command = parseCommand(text);
        expect(command).not.toMatch(/[\n\r\u2028]/);
        expect(command.length).toBeLessThanOrEqual(200);
        expect(normalizeCommand(command)).not.toMatch(/[\n\r\u2028]/);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('what is played for a command', () => {
  test.each([
    ['Go to Desk 1.', 'go to desk 1'],
    ['> "go  to desk 1"', 'go to desk 1'],
    ['** `Look`!', 'look'],
    ['put mug 1 in/on shelf 3', 'move mug 1 to shelf 3'],
    ['Put mug 1 on shelf 3.', 'move mug 1 to shelf 3'],
    ['put mug 1 in cabinet 3', 'move mug 1 to cabinet 3'],
    ['put mug 1 into cabinet 3', 'move mug 1 to cabinet 3'],
    ['move mug 1 to shelf 3', 'move mug 1 to shelf 3'],
    ['take saltshaker 1 from countertop 2', 'take saltshaker 1 from countertop 2'],
    ['put mug 1', 'put mug 1'],
  ])('%j', (command, played) => expect(normalizeCommand(command)).toBe(played));
});

describe('the conversation', () => {
  const seen = (
    observation: string,
    admissible: string[],
  ): { observation: string; admissible: string[]; won: boolean } => ({ observation, admissible, won: false });

  it('has what was played, and lists the commands of the last state only', () => {
    const conversation = new Conversation('admissible', seen('You are here.', ['look', 'go to desk 1']));
    conversation.append('go to desk 1', seen('You arrive.', ['look', 'use desklamp 1']));
    expect(conversation.messages().slice(1)).toEqual([
      { role: 'user', content: 'You are here.' },
      { role: 'assistant', content: 'Action: go to desk 1' },
      { role: 'user', content: 'You arrive.\n\nAdmissible commands:\nlook\nuse desklamp 1' },
    ]);
  });
  it('lists none in the open setting', () => {
    const messages = new Conversation('open', seen('You are here.', ['look'])).messages();
    expect(messages.at(-1)).toEqual({ role: 'user', content: 'You are here.' });
  });
});
