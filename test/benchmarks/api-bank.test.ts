import { describe, expect, it } from 'vitest';
import { callFault, parseApiCall } from '../../src/benchmarks/api-bank/damo-rule.ts';
import { apiBankDamoLevel1, apiBankDamoLevel2 } from '../../src/benchmarks/api-bank/damo-suite.ts';
import { parseToolRlCalls, strictCallMatch, toolRlMatch } from '../../src/benchmarks/api-bank/toolrl-rule.ts';
import { apiBankToolRl } from '../../src/benchmarks/api-bank/toolrl-suite.ts';
import type { ToolRlCase } from '../../src/benchmarks/api-bank/toolrl-suite.ts';
import { answer, figures, native, opened, prompted, scripted, shippedHost } from './attempt.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const levelOf = ({ id }: ToolRlCase): string => id.slice(0, 6);
const called = (call: unknown): { text: string } => ({
  text: `<think> so </think>\n<tool_call>\n${JSON.stringify(call)}\n</tool_call>`,
});

describe('api_bank_toolrl: the golden table', async () => {
  const suite = await opened(apiBankToolRl);
  const { cases } = suite;
  const ofLevel = (item: ToolRlCase): readonly ToolRlCase[] =>
    cases.filter((candidate) => levelOf(candidate) === levelOf(item));
  const place = (item: ToolRlCase): number => ofLevel(item).indexOf(item);
  const table = async (respond: (item: ToolRlCase) => { text: string }) => {
    const {
      api_bank_toolrl_level1_exact_prompt: level1,
      api_bank_toolrl_level2_exact_prompt: two,
      api_bank_toolrl_level3_exact_prompt: three,
      api_bank_toolrl_exact_prompt: all,
      api_bank_genenv_toolrl_exact_prompt: genenv,
    } = await figures(suite, cases.map(respond));
    expect(genenv).toBe(all);
    return [level1, two, three, all];
  };

  it('has 597 cases', () =>
    expect([cases.length, new Set(cases.map(({ id }) => id)).size, cases[0]!.id, cases.at(-1)!.id]).toEqual([
      597,
      597,
      'Level1_0',
      'Level3_130',
    ]));
  it('gold call in every case', async () =>
    expect(await table(({ gold }) => called(gold))).toEqual([100, 100, 100, 100]));
  it('what the suite calls gold', async () =>
    expect(await table((item) => suite.gold(item) as { text: string })).toEqual([100, 100, 100, 100]));
  it('gold in every other case', async () =>
    expect(await table((item) => (place(item) % 2 === 0 ? called(item.gold) : { text: '' }))).toEqual([
      50.13, 50.75, 50.38, 50.25,
    ]));
  it('gold parameters under the name of the next case', async () => {
    const next = (item: ToolRlCase) => ofLevel(item)[(place(item) + 1) % ofLevel(item).length]!;
    expect(
      await table((item) => called({ name: next(item).gold.name, parameters: item.gold.parameters })),
    ).toEqual([6.27, 0, 12.98, 7.04]);
  });
  it('bare gold parameters', async () =>
    expect(await table(({ gold }) => called(gold.parameters))).toEqual([100, 100, 100, 100]));
});

describe("ToolRL's rule", () => {
  const gold = { name: 'AddAlarm', parameters: { token: 'a', time: '5' } };
  const line = JSON.stringify(gold);

  it.each([
    [
      'the right call among others',
      `<tool_call>\n{"name": "GetUserToken", "parameters": {}}\n${line}\n</tool_call>`,
      true,
      0,
    ],
    ['bare parameters', `<tool_call>\n{"token": "a", "time": "5"}\n</tool_call>`, true, 0],
    ['without a tag', line, true, 0],
    ['after a line that is no JSON', `<tool_call>\nhere it is:\n${line}\n</tool_call>`, true, 0],
    [
      'in the last of two blocks',
      `<tool_call>\n{}\n</tool_call>\n<tool_call>\n${line}\n</tool_call>`,
      true,
      0,
    ],
    [
      'in the first of two blocks',
      `<tool_call>\n${line}\n</tool_call>\n<tool_call>\n{}\n</tool_call>`,
      false,
      0,
    ],
    [
      'a number for a text',
      '<tool_call>\n{"name": "AddAlarm", "parameters": {"token": "a", "time": 5}}\n</tool_call>',
      false,
      0,
    ],
    [
      'another case',
      '<tool_call>\n{"name": "addalarm", "parameters": {"token": "a", "time": "5"}}\n</tool_call>',
      false,
      0,
    ],
    [
      'one parameter more',
      '<tool_call>\n{"name": "AddAlarm", "parameters": {"token": "a", "time": "5", "x": "1"}}\n</tool_call>',
      false,
      0,
    ],
    ['after a number', `<tool_call>\n7\n${line}\n</tool_call>`, false, 0],
    ['spread over lines', `<tool_call>\n${JSON.stringify(gold, null, 1)}\n</tool_call>`, false, 0],
    ['in a block that never ends', `<tool_call>\n${line}`, true, 0],
    ['twice', `<tool_call>\n${line}\n</tool_call>\n<tool_call>\n${line}\n</tool_call>`, true, 0],
    ['with something beside it', `<tool_call>\n${JSON.stringify({ ...gold, id: 1 })}\n</tool_call>`, true, 0],
    ['with a closing tag too many', `</tool_call><tool_call>\n${line}\n</tool_call>`, true, 0],
    [
      'keys in another order',
      '<tool_call>{"parameters": {"time": "5", "token": "a"}, "name": "AddAlarm"}</tool_call>',
      true,
      1,
    ],
    [
      'beside an answer',
      `<think> x </think>\n<tool_call>\n${line}\n</tool_call>\n<response> done </response>`,
      true,
      1,
    ],
    ['nothing', '', false, 0],
  ])('%s', (_, text, right, strict) => {
    expect(toolRlMatch(parseToolRlCalls(text), gold)).toBe(right);
    expect(strictCallMatch(text, gold)).toBe(strict);
  });
});

describe('api_bank_toolrl: questions', () => {
  it('asks in the words of the data', async () => {
    const suite = await opened(apiBankToolRl);
    const { tools, questions } = scripted([answer('<tool_call>{"a": 1}</tool_call>')]);
    expect(await suite.attempt(suite.cases[0]!, tools)).toEqual({ text: '<tool_call>{"a": 1}</tool_call>' });
    const { system, user } = suite.cases[0]!;
    expect(questions).toEqual([
      {
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: user },
        ],
      },
    ]);
  });

  it('gives every tool of every case natively, and judges what the server parsed', async () => {
    const suite = await opened(apiBankToolRl, native);
    for (const item of suite.cases) {
      const { tools, questions } = scripted([
        answer('', [{ id: '1', name: item.gold.name, arguments: JSON.stringify(item.gold.parameters) }]),
      ]);
      expect(await suite.attempt(item, tools)).toEqual(suite.gold(item));
      expect(questions[0]!.tools).toHaveLength(item.system.split('\nParameters: {').length - 1);
      expect(questions[0]!.messages[0]!.content).not.toContain('<tool_call>');
    }
    const { tools, questions } = scripted([answer('')]);
    await suite.attempt(suite.cases[0]!, tools);
    expect(questions[0]!.tools![2]).toEqual({
      name: 'ModifyRegistration',
      description: 'This API modifies the registration of a patient given appointment ID.',
      parameters: {
        type: 'object',
        properties: {
          appointment_id: { type: 'string', description: '(str) The ID of appointment.' },
          new_appointment_date: {
            type: 'string',
            description: '(str) The new appointment date. Format: %Y-%m-%d.',
          },
          new_appointment_doctor: { type: 'string', description: '(str) The new appointment doctor.' },
        },
      },
    });
    expect(
      await figures(
        suite,
        suite.cases.map((item) => suite.gold(item)!),
      ),
    ).toMatchObject({ api_bank_toolrl_exact_native: 100 });
    expect(
      await figures(
        suite,
        suite.cases.map(({ gold }) => ({ calls: [{ name: gold.name, arguments: '{"broken' }] })),
      ),
    ).toMatchObject({ api_bank_toolrl_exact_native: 0 });
  });

  it('says what is missing', async () => {
    expect(await apiBankToolRl.open({ ...shippedHost, shipped: '/nowhere' }, prompted)).toEqual({
      missing: expect.stringContaining('/nowhere/api-bank/level-1-api_processed.json') as string,
    });
  });
});

describe('api_bank_damo', () => {
  it.each([
    [apiBankDamoLevel1, 399, 4],
    [apiBankDamoLevel2, 135, 12],
  ] as const)(
    '$name: all of its gold passes, and little of it under the next case',
    async (level, count, most) => {
      const suite = await opened(level);
      expect([suite.cases.length, new Set(suite.cases.map(({ id }) => id)).size]).toEqual([count, count]);
      const name = `${level.name}_arguments_prompt`;
      const gold = suite.cases.map((item) => suite.gold(item)!);
      expect((await figures(suite, gold))[name]).toBe(100);
      expect(
        (
          await figures(
            suite,
            gold.map(() => ({ text: '' })),
          )
        )[name],
      ).toBe(0);
      const shifted = await figures(
        suite,
        suite.cases.map((_, index) => gold[(index + 1) % count]!),
      );
      expect(shifted[name]).toBeLessThan(most);
    },
  );

  it('counts the calls beyond the search for an API apart', async () => {
    const suite = await opened(apiBankDamoLevel2);
    const verdicts = await suite.judge(
      suite.cases.map((item) => ({
        item,
        response: item.expected.includes('ToolSearcher') ? suite.gold(item)! : { text: '[Other()]' },
      })),
      new AbortController().signal,
    );
    const scores = suite.scores(verdicts.map((verdict, index) => ({ id: suite.cases[index]!.id, verdict })));
    expect(scores.map((score) => [score.name, score.successes, score.of])).toEqual([
      ['api_bank_damo_level2_arguments_prompt', 45, 135],
      ['api_bank_damo_level2_name_prompt', 45, 135],
      ['api_bank_damo_level2_beyond_search_prompt', 0, 90],
    ]);
  });

  it('reads every parameter that the data writes', async () => {
    for (const level of [apiBankDamoLevel1, apiBankDamoLevel2]) {
      for (const { expected } of (await opened(level)).cases) {
        const { parameters } = parseApiCall(expected)!;
        const keys = [...expected.matchAll(/(?:\(|, )(\w+)='/g)].map(([, key]) => key);
        expect([...parameters.keys()], expected).toEqual(keys);
        for (const value of parameters.values()) expect(JSON.stringify(value), expected).not.toMatch(/='/);
      }
    }
  });

  it('takes native tools on level 1, and refuses them on level 2', async () => {
    expect(apiBankDamoLevel2.refuses(native)).toContain('toolFormat: got "native"');
    expect([apiBankDamoLevel1.refuses(native), apiBankDamoLevel2.refuses(prompted)]).toEqual([null, null]);
    const suite = await opened(apiBankDamoLevel1, native);
    for (const item of suite.cases) {
      const { tools, questions } = scripted([answer('')]);
      await suite.attempt(item, tools);
      const gold = suite.gold(item)!;
      const [call] = 'calls' in gold ? gold.calls : [];
      expect(questions[0]!.tools!.map(({ name }) => name)).toContain(call!.name);
      expect(JSON.stringify(questions[0]!.messages)).not.toContain('Generate API Request');
    }
    expect(
      (
        await figures(
          suite,
          suite.cases.map((item) => suite.gold(item)!),
        )
      ).api_bank_damo_level1_arguments_native,
    ).toBe(100);
  });

  it.each([
    ["[Add(a='x', n='5')]", "[Add(n=5, a='x')]", null],
    ["[Add(a='x')]", 'I call it: API-Request: [Add(a="x")]. Done.', null],
    ["[Add(a='x')]", "<think>[Other(a='x')]</think>[Add(a='x')]", null],
    ["[Add(a='x')]", '[Add(a=x)]', null],
    ["[Add(a='['John', 'Jane']')]", "[Add(a=['John', 'Jane'])]", null],
    ["[Add(a='['John', 'Jane']')]", "[Add(a=\"['John', 'Jane']\")]", null],
    ["[Add(a='['John', 'Jane']')]", "[Add(a=['Jane', 'John'])]", 'wrong_value'],
    [
      "[Add(a='[{'name': 'p', 'value': '1/2'}]', b='c')]",
      "[Add(a=[{'value': '1/2', 'name': 'p'}], b='c')]",
      null,
    ],
    [
      "[Add(a='[{'name': 'p', 'value': '1/2'}]', b='c')]",
      "[Add(a=[{'value': '1/3', 'name': 'p'}], b='c')]",
      'wrong_value',
    ],
    ["[Add(content='Meet John at noon')]", "[Add(content='meet John at 12 noon')]", null],
    ["[Add(content='Meet John at noon')]", "[Add(content='see Jane at noon')]", 'wrong_value'],
    ["[Add(password='Abc')]", "[Add(password='abc')]", 'wrong_value'],
    ["[Add(id='0123')]", "[Add(id='123')]", 'wrong_value'],
    ["[Add(on='True')]", '[Add(on=true)]', null],
    ["[Add(a='x')]", "[add(a='x')]", 'wrong_api'],
    ["[Add(a='x', b='y')]", "[Add(a='x')]", 'wrong_parameters'],
    ["[Add(a='x')]", "[Add(a='x', b='y')]", 'wrong_parameters'],
    ["[Add(a='x')]", "[Add(b='x')]", 'wrong_parameters'],
    ['[Get()]', '[Get()]', null],
  ] as const)('%s and %s: %s', (gold, actual, fault) => {
    expect(callFault(parseApiCall(actual)!, parseApiCall(gold)!)).toBe(fault);
  });

  it.each([
    '',
    'Add',
    "[Add(a='x'",
    "[Add('x')]",
    "[Add(a='x', a='y')]",
    "[__import__('os').system('x')]",
    '[Add(a=)]',
  ])('finds no call in %j', (text) => {
    expect(parseApiCall(text)).toBeUndefined();
  });

  it('finds no call in what is nested without end', () => {
    for (const text of ['['.repeat(9000), `[Add(a=${'['.repeat(9000)})`, '[Add(a='.repeat(2000)])
      expect(parseApiCall(text)).toBeUndefined();
  });

  it.each([
    ['a value before spaces without end', (many: string) => `[A(b=x${many}`, undefined],
    ['a value in quotes before spaces without end', (many: string) => `[A(b='x'${many}`, undefined],
    ['spaces before the end', (many: string) => `[A(b=x${many})${many}]`, { b: 'x' }],
    ['spaces between parameters', (many: string) => `[A(b=x${many},${many}c='y')]`, { b: 'x', c: 'y' }],
    ['spaces for parameters', (many: string) => `[A(${many}`, undefined],
  ])('reads %s in linear time', async (_, textOf, parameters) => {
    const seconds = await cpuSeconds(() => {
      for (const space of [' ', '\n']) {
        const call = parseApiCall(textOf(space.repeat(9000)));
        expect(call && Object.fromEntries(call.parameters)).toEqual(parameters);
        expect(parseApiCall(textOf(space.repeat(50_000)))).toBeUndefined();
      }
    });
    expect(seconds).toBeLessThan(2);
  });

  it('finds no call in native arguments that are nested without end, and one in those of 50 levels', async () => {
    const suite = await opened(apiBankDamoLevel1, native);
    const item = suite.cases[0]!;
    const reasonOf = async (levels: number) => {
      const args = `{"a": ${'['.repeat(levels)}${']'.repeat(levels)}}`;
      const [verdict] = await suite.judge(
        [{ item, response: { calls: [{ name: parseApiCall(item.expected)!.name, arguments: args }] } }],
        new AbortController().signal,
      );
      return verdict!.reason;
    };
    expect([await reasonOf(49), await reasonOf(50), await reasonOf(20_000)]).toEqual([
      'wrong_parameters',
      'no_call',
      'no_call',
    ]);
  });

  it('says that a question was too long, not that no call was made', async () => {
    const tooLong = { ...answer(''), finish_reason: 'prompt_too_long' } as const;
    for (const suite of [await opened(apiBankDamoLevel1), await opened(apiBankDamoLevel1, native)]) {
      const { tools } = scripted([tooLong]);
      const item = suite.cases[0]!;
      const response = await suite.attempt(item, tools);
      expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([
        { correct: false, reason: 'prompt_too_long' },
      ]);
    }
    const suite = await opened(apiBankToolRl);
    const { tools } = scripted([tooLong]);
    const item = suite.cases[0]!;
    const response = await suite.attempt(item, tools);
    expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([
      { correct: false, reason: 'prompt_too_long' },
    ]);
  });
});
