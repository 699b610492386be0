import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BfclCase, RecordedAnswer } from '../../src/benchmarks/bfcl/engine.ts';
import { judged, open, packageData, scripted, text } from './bfcl-open.ts';
import type { Open } from './bfcl-open.ts';

const turns = (item: BfclCase): string[][] => item.gold.map((turn) => turn.map((answer) => answer.text));

describe('an episode in prompting', () => {
  let suite: Open;
  beforeAll(async () => void (suite = await open('multi_turn_base')));
  afterAll(() => suite.close());

  test('asks until nothing is called, feeds results back, and is judged by what it did', async () => {
    const item = suite.cases[0]!;
    const { tools, questions } = scripted(item.gold.flat());
    const response = await suite.attempt(item, tools);
    expect(response.turns).toEqual(item.gold);
    expect(questions).toHaveLength(item.gold.flat().length);
    const last = questions.at(-1)!.messages;
    expect(last.filter(({ role }) => role === 'system')).toHaveLength(1);
    expect(last[2]).toEqual({ role: 'assistant', content: "[cd(folder='document')]" });
    expect(last[3]).toEqual({
      role: 'user',
      content: `[{'role': 'tool', 'name': "cd(folder='document')", 'content': '{"current_working_directory": "document"}'}]`,
    });
    expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([
      { correct: true, scores: { success: 1 }, reason: null },
    ]);
  });
  test('is judged few at a time, so that verdicts are kept often', () =>
    expect(suite.judgeBatchSize).toBe(8));
  test('is given up after 21 answers with calls in a turn', async () => {
    const item = suite.cases[0]!;
    const { tools, questions } = scripted(Array.from({ length: 100 }, () => text('[ls()]')));
    const response = await suite.attempt(item, tools);
    expect([questions.length, response.turns.length]).toEqual([21, 1]);
    expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([
      { correct: false, reason: 'multi_turn:force_terminated' },
    ]);
  });
  test('is wrong for what it leaves undone, and for what it does too much', async () => {
    const [item] = suite.cases as [BfclCase];
    const signal = new AbortController().signal;
    const without = item.gold.map((turn, index) => (index === 0 ? [text('I cannot.')] : turn));
    const more = item.gold.map((turn, index) =>
      index === 0 ? [...turn, text("[mkdir(dir_name='more')]")] : turn,
    );
    const reading = item.gold.map((turn, index) => (index === 0 ? [...turn, text('[ls()]')] : turn));
    const verdicts = await suite.judge(
      [without, more, reading].map((answers) => ({ item, response: { turns: answers } })),
      signal,
    );
    expect(verdicts.map(({ correct, reason }) => [correct, reason])).toEqual([
      [false, 'multi_turn:empty_turn_model_response'],
      [false, 'multi_turn:instance_state_mismatch'],
      [true, null],
    ]);
  });
  test('calls in <tool_call> run as well', async () => {
    const item = suite.cases[0]!;
    const { tools, questions } = scripted([
      text('<tool_call>{"name": "cd", "arguments": {"folder": "document"}}</tool_call>'),
    ]);
    await suite.attempt(item, tools);
    expect(questions[1]!.messages.at(-1)!.content).toContain('{"current_working_directory": "document"}');
  });
  test('calls within calls and positional arguments are what the official code makes of them', async () => {
    const item = suite.cases[0]!;
    const { tools, questions } = scripted([
      text("[echo(content=echo(content='inner'), file_name='x')]"),
      text('[echo(content=pwd())]'),
      text("[cd('document')]"),
    ]);
    await suite.attempt(item, tools);
    const said = questions.map(({ messages }) => messages.at(-1)!.content);
    // The official writer joins the two calls; a call without arguments becomes its text.
    expect(said[1]).toContain("'content': '");
    expect(said[2]).toContain('pwd()');
    expect(said[3]).toContain("missing 1 required positional argument: 'folder'");
  });
  test('no state outlives an attempt: gold passes after a failed attempt at the same case', async () => {
    const chosenIds = new Set(suite.cases.slice(0, 60).map(({ id }) => id));
    const failed = await judged(suite, ({ id, gold }) =>
      chosenIds.has(id)
        ? gold.map((turn, index) => (index === gold.length - 1 ? [text('No.')] : turn))
        : undefined,
    );
    expect([...failed.values()].filter(({ correct }) => correct)).toEqual([]);
    const right = await judged(suite, ({ id, gold }) => (chosenIds.has(id) ? gold : undefined));
    expect([right.size, ...[...right].filter(([, { correct }]) => !correct)]).toEqual([60]);
  });
});

test('the truth of multi_turn_base as its text stands scores 176 of 200: positional arguments are dropped', async () => {
  const suite = await open('multi_turn_base');
  const lines = (
    await readFile(join(await packageData(), 'possible_answer', 'BFCL_v4_multi_turn_base.json'), 'utf8')
  )
    .trim()
    .split('\n');
  const truths = new Map(
    lines
      .map((line) => JSON.parse(line) as { id: string; ground_truth: string[][] })
      .map(({ id, ground_truth: truth }) => [id, truth]),
  );
  const verdicts = await judged(suite, ({ id }) =>
    truths.get(id)!.map((calls) => [...calls.map((call) => text(`[${call}]`)), text('Done.')]),
  );
  expect([[...verdicts.values()].filter(({ correct }) => correct).length, verdicts.size]).toEqual([176, 200]);
  await suite.close();
}, 60_000);

describe('an episode with native tools', () => {
  test('has an answer to every call, and functions that come later', async () => {
    const suite = await open('multi_turn_miss_func', 'native');
    const item = suite.cases[0]!;
    const { tools, questions } = scripted(item.gold.flat());
    const response = await suite.attempt(item, tools);
    expect(await suite.judge([{ item, response }], tools.signal)).toMatchObject([{ correct: true }]);
    const toolCounts = questions.map(({ tools: specs }) => specs!.length);
    expect(new Set(toolCounts)).toEqual(new Set([toolCounts[0]!, toolCounts[0]! + 1]));
    const messages = questions.at(-1)!.messages;
    expect(messages).toContainEqual({
      role: 'user',
      content: 'I have updated some more functions you can choose from. What about now?',
    });
    const calls = messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []) : [],
    );
    const answers = messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []));
    expect(answers).toEqual(calls.map(({ id }) => id));
    await suite.close();
  });
  test('continues to the next turn after calls that cannot be read, each answered', async () => {
    const suite = await open('multi_turn_base', 'native');
    const item = suite.cases[0]!;
    const broken: RecordedAnswer = {
      text: '',
      toolCalls: [
        { name: 'cd', arguments: '{"folder": ' },
        { name: 'ls', arguments: '[' },
      ],
    };
    const { tools, questions } = scripted([broken]);
    expect((await suite.attempt(item, tools)).turns).toHaveLength(item.turns.length);
    expect(questions[1]!.messages.slice(questions[0]!.messages.length)).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', toolCallId: '1_0', content: 'The call could not be read.' },
      { role: 'tool', toolCallId: '1_1' },
      { role: 'user' },
    ]);
    await suite.close();
  });
});

describe('turn by turn', () => {
  let suite: Open;
  beforeAll(async () => void (suite = await open('multi_turn_long_context_by_turn')));
  afterAll(() => suite.close());

  test('is judged few at a time', () => expect(suite.judgeBatchSize).toBe(8));
  test('a turn whose calls were converted says so', async () => {
    const item = suite.cases[0]!;
    const gold = item.gold[0]![0]!;
    const turns = item.gold.map((turn, index) =>
      index === 0
        ? turn.map((step) => (step === gold ? { ...step, text: `\`\`\`python\n${step.text}\n\`\`\`` } : step))
        : turn,
    );
    const [verdict] = await suite.judge([{ item, response: { turns } }], new AbortController().signal);
    expect(verdict).toMatchObject({
      correct: true,
      detail: item.gold.map((_, index) => ({ valid: true, converted: index === 0 })),
    });
    const [score, unconverted] = suite.scores([{ id: item.id, verdict: verdict! }]);
    expect(score!.note).toMatch(/answers of 1 turns were converted$/);
    expect(unconverted).toMatchObject({
      name: 'bfcl_v4_multi_turn_long_context_turn_success_gold_history_prompt_unconverted',
      successes: item.gold.length - 1,
      of: item.gold.length, // eslint-disable-line id-denylist -- its name on disk
    });
  });
  test('a lost turn costs only itself', async () => {
    const item = suite.cases.find(({ gold }) => gold.length >= 4)!;
    const answers = item.gold.map((turn, index) => (index === 1 ? [text('No.')] : turn));
    const { tools, questions } = scripted(answers.flat());
    const response = await suite.attempt(item, tools);
    expect(response.turns).toEqual(answers);
    // What the model is shown of the turn before is the truth, not its own refusal.
    const shown = questions.at(-1)!.messages.map(({ content }) => content);
    expect(shown).toEqual(expect.arrayContaining(turns(item)[1]!));
    expect(shown).not.toContain('No.');
    const [verdict] = await suite.judge([{ item, response }], tools.signal);
    expect(verdict).toMatchObject({
      correct: false,
      detail: item.gold.map((_, index) => ({ valid: index !== 1, converted: false })),
      scores: { turn_success: 1 - 1 / item.gold.length },
    });
    expect(suite.scores([{ id: item.id, verdict: verdict! }])).toMatchObject([
      {
        name: 'bfcl_v4_multi_turn_long_context_turn_success_gold_history_prompt',
        successes: item.gold.length - 1,
        of: item.gold.length, // eslint-disable-line id-denylist -- its name on disk
      },
    ]);
  });
  test('gold is right in every turn of the first 40 cases', async () => {
    const chosenIds = new Set(suite.cases.slice(0, 40).map(({ id }) => id));
    const verdicts = await judged(suite, ({ id, gold }) => (chosenIds.has(id) ? gold : undefined));
    expect([...verdicts].filter(([, { correct }]) => !correct)).toEqual([]);
  });
});
