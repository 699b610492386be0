import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bfclQuestions, shippedQuestions } from '../../src/benchmarks/contamination/benchmark-questions.ts';
import {
  findContamination,
  indexFingerprints,
  questionsText,
  readQuestions,
} from '../../src/benchmarks/contamination/find-contamination.ts';
import { questionFingerprint, questionFingerprints } from '../../src/benchmarks/contamination/fingerprint.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { shippedHost } from './attempt.ts';
import { packageData } from './bfcl-open.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const data = shippedHost.shipped;
const kept = readQuestions();
const bamboogle = shippedQuestions.bamboogle!(data);
const citibank = bamboogle[0]!.text;
const contamination = { benchmark: 'bamboogle', id: 'bamboogle_0' };

describe('the fingerprints that come with the project', () => {
  it.each(Object.keys(shippedQuestions))('of %s are those of its data', (benchmark) => {
    if (benchmark === 'travelplanner' && !existsSync(join(data, benchmark))) return;
    expect(questionsText(kept.filter((fingerprint) => fingerprint.benchmark === benchmark))).toBe(
      questionsText(questionFingerprints(shippedQuestions[benchmark]!(data))),
    );
  });

  it('of BFCL are those of the package that judges it', async () => {
    expect(questionsText(kept.filter(({ benchmark }) => benchmark === 'bfcl_v4'))).toBe(
      questionsText(questionFingerprints(bfclQuestions(await packageData()))),
    );
  });

  it('cover every case of Bamboogle, TravelPlanner and API-Bank, and BFCL', () => {
    const ids = (benchmark: string) =>
      new Set(kept.filter((fingerprint) => fingerprint.benchmark === benchmark).map(({ id }) => id));
    expect([ids('bamboogle').size, ids('travelplanner').size]).toEqual([125, 45]);
    expect(new Set([...ids('bfcl_v4')].map((id) => id.replace(/_\d.*$/, '')))).toEqual(
      new Set([
        ...[
          'irrelevance',
          'live_irrelevance',
          'live_multiple',
          'live_parallel',
          'live_parallel_multiple',
          'live_relevance',
          'live_simple',
          'memory',
        ],
        ...[
          'multi_turn_base',
          'multi_turn_long_context',
          'multi_turn_miss_func',
          'multi_turn_miss_param',
          'multiple',
          'parallel',
          'parallel_multiple',
          'simple_java',
          'simple_javascript',
          'simple_python',
          'web_search',
        ],
      ]),
    );
    for (const { text } of shippedQuestions.api_bank!(data))
      if (text.length > 60)
        expect(findContamination(text), text).toMatchObject({ benchmark: expect.any(String) as string });
  });

  it('hold no question in words', () => {
    for (const line of questionsText(kept).split('\n')) expect(line).not.toMatch(/[^\w\t#.-]/);
  });
});

describe('contaminated', () => {
  it.each([
    ['alone', citibank],
    [
      'in another case, with other signs and spaces',
      `who was PRESIDENT of the united states -- in the year,\n that "Citibank" was founded`,
    ],
    ['with text around it', `Here is a task. ${citibank} Answer in one word.`],
    ['in a line of its own', `Question:\n${citibank}\nAnswer:`],
    ['in quotes', `Say it again: "${citibank}"`],
    ['in JSON', JSON.stringify({ prompt: `First line\n${citibank}\nlast`, tools: [] })],
    ['in JSON within JSON', JSON.stringify({ text: JSON.stringify({ prompt: `\n${citibank}` }) })],
    [
      'in JSON of escapes alone',
      `{"prompt":"${[...citibank].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`,
    ],
    [
      'in full-width letters',
      citibank.replace(/[a-z]/gi, (letter) => String.fromCodePoint(letter.codePointAt(0)! + 0xfee0)),
    ],
  ])('finds a question %s', (_, text) => expect(findContamination(text)).toEqual(contamination));

  it.each([
    ['a part of it', citibank.split(' ').slice(0, -1).join(' ')],
    ['it with a word between', citibank.replace('year', 'very year')],
    ['its words in another order', citibank.split(' ').reverse().join(' ')],
    ['another question', 'Who was president of the United States in the year that Apple was founded?'],
    ['a few words', 'ok'],
    ['nothing', ''],
    ['a small request', 'Can you help me delete my account?'],
    ['what a task of a built-in world looks like', 'T:aaaa'],
  ])('finds none in %s', (_, text) => expect(findContamination(text)).toBeNull());

  it('finds each of Bamboogle, under its own case', () => {
    for (const { id, text } of bamboogle) expect(findContamination(`Q: ${text}`), id).toMatchObject({ id });
  });

  it('finds a question that begins like a longer one, and one without spaces', () => {
    const questions = [
      'which of these five words come first',
      'which of these five words come first of all',
      '请问北京今天的天气怎么样和上海相比如何呢',
    ];
    const index = indexFingerprints(
      questionFingerprints(questions.map((text, at) => ({ benchmark: 'own', id: String(at), text }))),
    );
    expect(findContamination('so, which of these five words come first of any?', index)).toEqual({
      benchmark: 'own',
      id: '0',
    });
    expect(findContamination(`那么${questions[2]!}？`, index)).toEqual({ benchmark: 'own', id: '2' });
  });

  it('leaves out what is too short to be told from what anybody writes', () => {
    expect(
      ['How old am I today', 'extraordinarily incomprehensible questions everywhere', ''].map((text) =>
        questionFingerprint({ benchmark: 'own', id: '0', text }),
      ),
    ).toEqual([null, null, null]);
    expect(
      questionFingerprint({ benchmark: 'own', id: '0', text: 'How old am I going to be?' }),
    ).toMatchObject({
      words: 7,
    });
  });

  it('looks each window up, so that a thousand prompts are a moment’s work', async () => {
    const prompt =
      'You are given tools and a question about a table of numbers, which you answer with one call. '.repeat(
        10,
      );
    findContamination(prompt);
    const seconds = await cpuSeconds(() => {
      for (let index = 0; index < 1000; index++) findContamination(`${index} ${prompt}`);
    });
    expect(seconds).toBeLessThan(1.5);
  });
});

describe("BFCL's questions", () => {
  it('are what users say in every turn, of every category', async () => {
    const folder = await temporaryFolder();
    const entry = {
      id: 'multi_turn_base_0',
      question: [
        [
          { role: 'system', content: 'You answer.' },
          { role: 'user', content: 'one' },
        ],
        [{ role: 'user', content: 'two' }],
      ],
      function: [],
    };
    await writeFile(join(folder, 'BFCL_v4_multi_turn_base.json'), `${JSON.stringify(entry)}\n`);
    await writeFile(join(folder, 'BFCL_v4_format_sensitivity.json'), '{}');
    await mkdir(join(folder, 'possible_answer'));
    expect(bfclQuestions(folder)).toEqual(
      ['one', 'two'].map((text) => ({ benchmark: 'bfcl_v4', id: 'multi_turn_base_0', text })),
    );
  });
});
