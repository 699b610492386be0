import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { quoted } from '../../src/scoring/quoted.ts';
import { noteText, shownNotes } from '../../src/scoring/epoch-notes.ts';
import { someRun } from './some-run.ts';

/** What people are told of an epoch in which nothing could be learnt; the ledger stays as it is. */

const ledgerText = async (run: Awaited<ReturnType<typeof someRun>>): Promise<string> => {
  const { ledgerFile } = run.dependencies.runFolder(run.plan.run.id);
  return readFile(ledgerFile, 'utf8');
};

describe('an epoch in which no task is valid', () => {
  it('is told in one line: the commonest reasons, an example, and what may help', async () => {
    const texts = ['', '', 'T:xyz\u001b[31m\u009b', 'T:ab'.repeat(20)];
    const run = await someRun({}, { invalid: { share: 1, texts } });
    const { messages, notes } = await run.epochs(1);
    expect(messages).toHaveLength(1);
    const [message] = messages!;
    expect(message).toMatch(/^0 of 16 tasks valid: \d+ \w+, \d+ \w+, \d+ \w+; for example "T:/);
    expect(message).toContain('a larger model');
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(message!.length).toBeLessThan(500);
    // The ledger's notes are what they were, and it has no message.
    expect(notes).toEqual(['agent: no update (empty_batch)', 'environment: no update (empty_batch)']);
    expect(await ledgerText(run)).not.toContain('tasks valid');
    const events = await run.dependencies.runFolder(run.plan.run.id).events();
    expect(events.filter(({ type }) => type === 'message')).toMatchObject([{ epoch: 1, message }]);
    expect(shownNotes(notes, messages)).toEqual([message]);
  });

  it('speaks of the settings that its reasons and its server speak for', async () => {
    const cut = await someRun({}, { invalid: { share: 1, texts: ['T:ab'.repeat(20)] } });
    expect((await cut.epochs(1)).messages).toEqual([
      `0 of 16 tasks valid: 16 cut_off; for example "${'T:ab'.repeat(20).slice(0, 30)}" (cut_off). What may help: ` +
        'environment.sampling.maxTokens above 30, a longer environment.model.warmUp, a larger model',
    ]);
    const empty = await someRun({}, { invalid: { share: 1, texts: [''] } });
    expect((await empty.epochs(1)).messages![0]).toContain('every text was empty');
  });
});

describe('an epoch whose rewards are all equal', () => {
  it('says so, and how many answers had the right form', async () => {
    const run = await someRun({ 'guards.frozenSamples': 0 }, { success: () => 0 });
    const { messages, notes } = await run.epochs(1);
    expect(messages).toEqual([
      expect.stringMatching(
        /^all 64 rewards equal \(0\): nothing to learn from for the agent; \d+ of 64 answers well-formed$/,
      ),
    ]);
    expect(notes).toContain('agent: no update (empty_batch)');
  });

  it('is silent if a single one differs', async () => {
    const run = await someRun({}, { success: () => 0.3 });
    expect(await run.epochs(1)).not.toHaveProperty('messages');
  });
});

describe('words for people', () => {
  it('a note of the ledger says what its code means', () => {
    expect(noteText('agent: no update (empty_batch)')).toBe('agent: no update (no record to learn from)');
    expect(noteText('agent: no update (too_few_informative_groups)')).toContain('minInformativeGroups');
    const spelt =
      'environment: no update (the rewards of its records span less than guards.flatRewards, 0.05)';
    expect(noteText(spelt)).toBe(spelt);
    expect(noteText('agent: no update (unknown_code)')).toBe('agent: no update (unknown_code)');
  });

  it('a text that a model wrote is short, on one line and harmless', () => {
    expect(quoted('a"b\n\u001b[2J\u0085\u202ex')).toBe('"a\\"b\\n\\u001b[2J\\u0085\\u202ex"');
    expect(quoted('x'.repeat(1000))).toHaveLength(125);
  });
});
