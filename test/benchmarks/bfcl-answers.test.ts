import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RecordedAnswer } from '../../src/benchmarks/bfcl/engine.ts';
import type { CaseVerdict } from '../../src/benchmarks/suite.ts';
import type { Question } from '../../src/formats/chat-messages.ts';
import { judged, open, scripted, text } from './bfcl-open.ts';
import type { Open } from './bfcl-open.ts';

/** simple_python_0: calculate_triangle_area(base=10, height=5), unit optional. */
const right = 'calculate_triangle_area(base=10, height=5)';
const json = '{"name": "calculate_triangle_area", "arguments": {"base": 10, "height": 5}}';

let suite: Open;
beforeAll(async () => void (suite = await open('simple_python')));
afterAll(() => suite.close());

async function verdictOn(answer: RecordedAnswer): Promise<CaseVerdict> {
  return (await judged(suite, ({ id }) => (id === 'simple_python_0' ? [[answer]] : undefined))).get(
    'simple_python_0',
  )!;
}

describe('answers that hold the right call', () => {
  test.each([
    ['as asked', `[${right}]`, false],
    ['without brackets', right, false],
    ['between back-ticks', `\`[${right}]\``, false],
    ['after thinking', `<think>[wrong(a=1)]</think>\n\n[${right}]`, false],
    ['with arithmetic', '[calculate_triangle_area(base=2*5, height=10-5)]', false],
    ['in fenced code', `\`\`\`python\n[${right}]\n\`\`\``, true],
    ['in fenced code without a language', `\`\`\`\n[${right}]\n\`\`\``, false],
    ['as a Hermes tool call', `<tool_call>\n${json}\n</tool_call>`, true],
    ['as a tool call that was cut off after it', `I call it. <tool_call>${json}`, true],
  ])('%s', async (_, answer, converted) => {
    expect(await verdictOn(text(answer))).toMatchObject({
      correct: true,
      reason: null,
      scores: { ast: 1 },
      detail: { converted },
    });
  });
  test('parsed by the server', async () => {
    expect(
      await verdictOn({
        text: '',
        toolCalls: [{ name: 'calculate_triangle_area', arguments: '{"base": 10, "height": 5}' }],
      }),
    ).toMatchObject({ correct: true });
  });
  test('a score says how many were converted', async () => {
    const verdicts = [
      ...(await judged(suite, ({ id }) =>
        id === 'simple_python_0' ? [[text(`<tool_call>${json}</tool_call>`)]] : [[text('')]],
      )),
    ];
    const [score, unconverted] = suite.scores(verdicts.map(([id, verdict]) => ({ id, verdict })));
    expect(unconverted).toMatchObject({ name: 'bfcl_v4_simple_python_ast_prompt_unconverted', successes: 0 });
    expect(score).toMatchObject({
      name: 'bfcl_v4_simple_python_ast_prompt',
      successes: 1,
      of: 400, // eslint-disable-line id-denylist -- its name on disk
      note: expect.stringContaining('1 answers') as string,
    });
  });
});

test('a request of many megabytes is read in linear time', { timeout: 120_000 }, async () => {
  const item = suite.cases[0]!;
  const secondsFor = async (megabytes: number): Promise<number> => {
    const response = { turns: [[text('x'.repeat(megabytes * 1e6))]] };
    const start = performance.now();
    const [verdict] = await suite.judge([{ item, response }], new AbortController().signal);
    expect(verdict).toMatchObject({ correct: false, reason: 'ast_decoder:decoder_failed' });
    return (performance.now() - start) / 1000;
  };
  const small = Math.min(await secondsFor(8), await secondsFor(8));
  // A reader that copies what it has with every 64 KB takes 64 times as long for eight times as much.
  expect(await secondsFor(64)).toBeLessThan(Math.max(30 * small, 3));
});

describe('answers that do not, and how the benchmark calls it', () => {
  test.each([
    ['nothing', '', 'simple_function_checker:wrong_count'],
    ['words', 'The area is 25.', 'ast_decoder:decoder_failed'],
    ['words around fenced code', `So:\n\`\`\`python\n[${right}]\n\`\`\``, 'ast_decoder:decoder_failed'],
    [
      'positional arguments, which are dropped',
      '[calculate_triangle_area(10, 5)]',
      'simple_function_checker:missing_required',
    ],
    ['another function', '[area(base=10, height=5)]', 'simple_function_checker:wrong_func_name'],
    [
      'one argument too many',
      '[calculate_triangle_area(base=10, height=5, colour="red")]',
      'simple_function_checker:unexpected_param',
    ],
    ['a float for an integer', '[calculate_triangle_area(base=10.0, height=5)]', 'type_error:simple'],
    ['a truth value for an integer', '[calculate_triangle_area(base=True, height=5)]', 'type_error:simple'],
    [
      'unpacked arguments',
      '[calculate_triangle_area(**{"base": 10, "height": 5})]',
      'simple_function_checker:missing_required',
    ],
    ['twice', `[${right}, ${right}]`, 'simple_function_checker:wrong_count'],
    [
      'a tool call without arguments',
      '<tool_call>{"name": "calculate_triangle_area"}</tool_call>',
      'ast_decoder:decoder_failed',
    ],
    [
      'a tool call whose arguments are a list',
      '<tool_call>{"name": "calculate_triangle_area", "arguments": [10, 5]}</tool_call>',
      'ast_decoder:decoder_wrong_output_format',
    ],
  ])('%s', async (_, answer, reason) => {
    expect(await verdictOn(text(answer))).toMatchObject({ correct: false, reason, scores: { ast: 0 } });
  });
});

describe('a question that the policy could not read', () => {
  const tooLong = { text: '', toolCalls: [], finish_reason: 'prompt_too_long', tokens: 0 };

  test('is wrong where no call is right', async () => {
    const irrelevance = await open('irrelevance');
    const item = irrelevance.cases[0]!;
    const { tools } = scripted([]);
    const responses = [
      await irrelevance.attempt(item, tools),
      await irrelevance.attempt(item, { ...tools, ask: () => Promise.resolve(tooLong) }),
    ];
    const verdicts = await irrelevance.judge(
      responses.map((response) => ({ item, response })),
      tools.signal,
    );
    expect(verdicts.map(({ correct, reason }) => [correct, reason])).toEqual([
      [true, null],
      [false, 'prompt_too_long'],
    ]);
    await irrelevance.close();
  });
  test('ends an episode, and costs a turn on its own only itself', async () => {
    const [episodes, byTurn] = [
      await open('multi_turn_long_context'),
      await open('multi_turn_long_context_by_turn'),
    ];
    const item = episodes.cases[0]!;
    const { tools, questions } = scripted(item.gold.flat());
    const ask = async (question: Question) => ({
      ...(await tools.ask(question)),
      ...(questions.length === 1 && tooLong),
    });
    const response = await episodes.attempt(item, { ...tools, ask });
    expect([questions.length, response]).toEqual([
      1,
      { turns: [[{ text: '', toolCalls: [], unread: true }]] },
    ]);
    expect(await episodes.judge([{ item, response }], tools.signal)).toMatchObject([
      { correct: false, reason: 'prompt_too_long' },
    ]);
    const turns = item.gold.map((turn, index) => (index === 0 ? response.turns[0]! : turn));
    expect(await byTurn.judge([{ item, response: { turns } }], tools.signal)).toMatchObject([
      {
        correct: false,
        reason: 'prompt_too_long',
        detail: item.gold.map((_, index) => ({ valid: index !== 0, converted: false })),
      },
    ]);
    await Promise.all([episodes.close(), byTurn.close()]);
  });
});

describe('questions', () => {
  test('prompting has the official system prompt, with the hint for the language', () => {
    const [{ messages, tools }] = suite.cases[0]!.turns as [Open['cases'][number]['turns'][number]];
    expect(tools).toBeNull();
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(messages[0]!.content).toMatch(
      /^You are an expert in composing functions\.You are given a question and a set of possible functions\./,
    );
    expect(messages[0]!.content).toContain('Note that the provided function is in Python 3 syntax.');
  });
  test('native tools are in JSON Schema, without dots in their names', async () => {
    const native = await open('multiple', 'native');
    const tools = native.cases.flatMap(({ turns }) => turns[0]!.tools ?? []);
    expect(tools.length).toBeGreaterThan(native.cases.length);
    expect(tools.filter(({ name }) => !/^[A-Za-z0-9_-]+$/.test(name))).toEqual([]);
    expect(JSON.stringify(tools)).not.toMatch(/"type":"(dict|float|tuple|any)"/);
    expect(native.cases[0]!.turns[0]!.messages.map(({ role }) => role)).toEqual(['user']);
    await native.close();
  });
  test('the hash of the data is the same in both settings, and another in another category', async () => {
    const [native, parallel] = [await open('simple_python', 'native'), await open('parallel')];
    expect(native.dataHash).toBe(suite.dataHash);
    expect(parallel.dataHash).not.toBe(suite.dataHash);
    expect(suite.judgeBatchSize).toBeUndefined();
    expect(suite.versions).toEqual({ bfcl_eval: '2026.3.23', bfcl_rules: '3' });
    await Promise.all([native.close(), parallel.close()]);
  });
});
