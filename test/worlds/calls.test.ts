import { describe, expect, it } from 'vitest';
import { strictCallMatch } from '../../src/benchmarks/api-bank/toolrl-rule.ts';
import { readPythonCalls, writePythonLiteral } from '../../src/worlds/calls/call-formats.ts';
import { callsMatch, exactText, looseText } from '../../src/worlds/calls/match.ts';
import type { CallsTask, CallTool } from '../../src/worlds/calls/task-schema.ts';
import { reasonOf, shippedWorld, specOf } from './json-tasks-support.ts';
import { cpuSeconds } from '../../test-support/cpu-seconds.ts';

const bfcl = await shippedWorld('calls');
const apiBank = await shippedWorld('calls', { style: 'api-bank' });

const brew: CallTool = {
  name: 'tea.brew',
  description: 'Brews tea.',
  parameters: {
    leaf: { type: 'string' },
    cups: { type: 'integer' },
    minutes: { type: 'number' },
    milk: { type: 'boolean' },
    sugar: { type: 'string', enum: ['none', 'one', 'two'] },
    extras: {
      type: 'array',
      items: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
  },
  required: ['leaf', 'cups'],
};
const warm: CallTool = {
  name: 'warm_cup',
  description: 'Warms cups.',
  parameters: { cups: { type: 'integer' } },
  required: ['cups'],
};
const task: CallsTask = {
  dialogue: [{ role: 'user', content: 'Two cups of strong Earl Grey please, milk in.' }],
  tools: [brew, warm],
  calls: [
    {
      name: 'tea.brew',
      arguments: { leaf: ['Earl Grey', 'earl grey tea'], cups: [2], milk: [true], minutes: [4.5, ''] },
    },
  ],
};
const withCall = (changes: object, rest: Partial<CallsTask> = {}): CallsTask => ({
  ...task,
  ...rest,
  calls: [{ ...task.calls[0]!, ...changes }],
});
const accepting = (changes: CallsTask['calls'][number]['arguments'], rest?: Partial<CallsTask>): CallsTask =>
  withCall({ arguments: { ...task.calls[0]!.arguments, ...changes } }, rest);
const bfclReward = (answer: string, scored: CallsTask = task): number =>
  bfcl.score(specOf(bfcl, scored), answer).reward;

it.each([
  ['Two cups, coming.', 'no parse'],
  ['[warm_cup(cups=2)]', 'wrong tool'],
  ["[tea.brew(leaf='Earl Grey', cups=2, milk=True), warm_cup(cups=2)]", 'wrong tool'],
  ["[tea.brew(leaf='Earl Grey', cups=3, milk=True)]", 'wrong argument'],
])('the class of %s: %s', (answer, said) => {
  expect(bfclReward(answer)).toBe(0);
  expect(bfcl.failure!(specOf(bfcl, task), answer)).toBe(said);
});

describe('the style `bfcl`', () => {
  it.each([
    ['the reference', "[tea.brew(leaf='Earl Grey', cups=2, milk=True, minutes=4.5)]"],
    [
      'another order, other quotes, a dash, case, and no minutes',
      '[tea.brew(cups=2, milk=true, leaf="earl-grey")]',
    ],
    ['another accepted value', "[tea.brew(leaf='Earl Grey tea', cups=2, milk=True)]"],
    [
      'reasoning before it',
      "<think>Milk, [so] true.</think>\n[tea.brew(leaf='Earl Grey', cups=2, milk=True)]",
    ],
  ])('takes %s', (_, answer) => {
    expect(bfcl.score(specOf(bfcl, task), answer)).toEqual({ reward: 1, wellFormed: true });
  });

  it.each([
    ['another name', "[tea_brew(leaf='Earl Grey', cups=2, milk=True)]", true],
    ['a missing argument', "[tea.brew(leaf='Earl Grey', cups=2)]", true],
    [
      'an argument of the tool that was not asked for',
      "[tea.brew(leaf='Earl Grey', cups=2, milk=True, sugar='none')]",
      true,
    ],
    ['an argument that the tool has not', "[tea.brew(leaf='Earl Grey', cups=2, milk=True, pot=1)]", true],
    ['a text for a number', "[tea.brew(leaf='Earl Grey', cups='2', milk=True)]", true],
    ['a number for a truth value', "[tea.brew(leaf='Earl Grey', cups=2, milk=1)]", true],
    [
      'the empty text for what may be left out',
      "[tea.brew(leaf='Earl Grey', cups=2, milk=True, minutes='')]",
      true,
    ],
    [
      'a call twice',
      "[tea.brew(leaf='Earl Grey', cups=2, milk=True), tea.brew(leaf='Earl Grey', cups=2, milk=True)]",
      true,
    ],
    ['a call beside it', "[tea.brew(leaf='Earl Grey', cups=2, milk=True), warm_cup(cups=2)]", true],
    ['no call', '[]', false],
    ['words after it', "[tea.brew(leaf='Earl Grey', cups=2, milk=True)] Enjoy!", false],
    ['words before it', "Here: [tea.brew(leaf='Earl Grey', cups=2, milk=True)]", false],
    ['arguments without names', "[tea.brew('Earl Grey', 2, True)]", false],
    ['an argument twice', "[tea.brew(leaf='Green', leaf='Earl Grey', cups=2, milk=True)]", false],
    ['code', "[tea.brew(leaf='Earl Grey', cups=__import__('os').getpid(), milk=True)]", false],
    ['a call without a list', "tea.brew(leaf='Earl Grey', cups=2, milk=True)", false],
  ])('refuses %s', (_, answer, wellFormed) => {
    expect(bfcl.score(specOf(bfcl, task), answer)).toEqual({ reward: 0, wellFormed });
  });

  it('reads and writes any value, and soon', async () => {
    const value = { "it's": ['a\n"b"\\', -1.5, true, false, { x: [] }], ü: 'ß' };
    expect(readPythonCalls(`[f(x=${writePythonLiteral(value)})]`)).toEqual([
      { name: 'f', arguments: { x: value } },
    ]);
    for (const hostile of [
      `[${'f('.repeat(9000)}`,
      `[f(x=${'['.repeat(9000)}`,
      '[f('.repeat(5000),
      `[f(x='${'\\'.repeat(9000)}`,
    ]) {
      const seconds = await cpuSeconds(() => {
        expect(readPythonCalls(hostile)).toBeUndefined();
      });
      expect(seconds).toBeLessThan(0.5);
    }
  });

  it('takes the empty text where it is accepted, of a text alone, as BFCL does', () => {
    const empty = accepting({ sugar: ['one', ''] });
    const answer = (rest: string): string => `[tea.brew(leaf='Earl Grey', cups=2, milk=True${rest})]`;
    expect(['', ", sugar=''", ", sugar='one'"].map((rest) => bfclReward(answer(rest), empty))).toEqual([
      1, 1, 1,
    ]);
    expect(bfclReward(answer(", sugar='two'"), empty)).toBe(0);
    expect(bfclReward(answer(", minutes=''"), empty)).toBe(0);
    expect(bfclReward(answer(", sugar=''"))).toBe(0);
  });

  it('takes the empty list where the parameter may be left out, as BFCL does', () => {
    const answer = (extras: string): string =>
      `[tea.brew(leaf='Earl Grey', cups=2, milk=True, extras=${extras})]`;
    const optional = accepting({ extras: [[{ name: 'Ice' }], ''] });
    expect(['[]', "[{'name': 'ice'}]"].map((extras) => bfclReward(answer(extras), optional))).toEqual([1, 1]);
    expect(["''", '[[]]', '{}'].map((extras) => bfclReward(answer(extras), optional))).toEqual([0, 0, 0]);
    expect(bfclReward(answer('[]'), accepting({ extras: [''] }))).toBe(1);
    expect(bfclReward(answer('[]'), accepting({ extras: [[{ name: 'Ice' }]] }))).toBe(0);
  });

  it('has lists in their order, and objects by their keys', () => {
    const nested = accepting({ extras: [[{ name: 'Lemon' }, { name: 'Ice' }]] });
    const answer = (extras: string): string =>
      `[tea.brew(leaf='Earl Grey', cups=2, milk=True, extras=${extras})]`;
    expect(bfclReward(answer("[{'name': 'lemon'}, {'name': 'ice'}]"), nested)).toBe(1);
    expect(bfclReward(answer("[{'name': 'ice'}, {'name': 'lemon'}]"), nested)).toBe(0);
    expect(bfclReward(answer("[{'name': 'lemon'}, {'name': 'ice', 'n': 1}]"), nested)).toBe(0);
  });

  it('shows tools as BFCL does', () => {
    const prompt = bfcl.agentPrompt(specOf(bfcl, task));
    expect(prompt).toContain('"minutes":{"type":"float"}');
    expect(prompt).toContain(
      '[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]',
    );
    expect(prompt).toContain(task.dialogue[0]!.content);
  });
});

describe('calls at once', () => {
  const both: CallsTask = {
    ...task,
    calls: [
      { name: 'warm_cup', arguments: { cups: [1, 2] } },
      { name: 'warm_cup', arguments: { cups: [1] } },
    ],
    tools: [warm],
  };

  it('are right in any order, each once', () => {
    for (const answer of [
      '[warm_cup(cups=1), warm_cup(cups=2)]',
      '[warm_cup(cups=2), warm_cup(cups=1)]',
      '[warm_cup(cups=1), warm_cup(cups=1)]',
    ])
      expect(bfclReward(answer, both), answer).toBe(1);
    for (const answer of [
      '[warm_cup(cups=2), warm_cup(cups=2)]',
      '[warm_cup(cups=1)]',
      '[warm_cup(cups=1), warm_cup(cups=2), warm_cup(cups=1)]',
    ])
      expect(bfclReward(answer, both), answer).toBe(0);
  });

  it('are matched without trying every order, whatever is accepted', async () => {
    const gold = Array.from({ length: 11 }, (_, at) => ({
      name: 'warm_cup',
      arguments: { cups: at < 10 ? [1, 2, 3] : [9] },
    }));
    const calls = gold.map(() => ({ name: 'warm_cup', arguments: { cups: 1 } }));
    const seconds = await cpuSeconds(() => {
      expect(callsMatch(gold, [warm], calls, looseText)).toBe(false);
    });
    expect(seconds).toBeLessThan(0.1);
  });

  it('are families: one tool or several, one call or several', () => {
    const kinds = [withCall({}, { tools: [brew] }), task, both, { ...both, tools: [brew, warm] }].map(
      (candidate) => bfcl.kind(specOf(bfcl, candidate)),
    );
    expect(kinds).toEqual(['simple', 'multiple', 'parallel', 'parallel_multiple']);
    const swapped = { ...both, calls: both.calls.toReversed() };
    expect(specOf(bfcl, swapped)).toBe(specOf(bfcl, both));
  });
});

describe('the style `api-bank`', () => {
  const parameters = { leaf: 'Earl Grey', cups: 2, milk: true, minutes: 4.5 };
  const answer = (call: object, before = ''): string =>
    `${before}<tool_call>\n${JSON.stringify(call)}\n</tool_call>`;
  const right = answer({ name: 'tea.brew', parameters }, '<think> Milk. </think>\n');

  it('takes what is equal as JSON, and agrees with the strict rule of the benchmark', () => {
    const spec = specOf(
      apiBank,
      withCall({ arguments: { leaf: ['Earl Grey'], cups: [2], milk: [true], minutes: [4.5] } }),
    );
    const answers = [
      right,
      answer({ parameters, name: 'tea.brew' }),
      answer({ name: 'tea.brew', parameters: { ...parameters, leaf: 'earl grey' } }),
      answer({ name: 'tea.brew', parameters: { ...parameters, cups: '2' } }),
      answer(parameters),
      answer({ name: 'tea.brew', arguments: parameters }),
      `${right}${right}`,
      JSON.stringify({ name: 'tea.brew', parameters }),
      '<tool_call></tool_call>',
      right.replace('</tool_call>', ''),
      '</tool_call>{}<tool_call>',
    ];
    const rewards = answers.map((text) => apiBank.score(spec, text).reward);
    expect(rewards).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(rewards).toEqual(answers.map((text) => strictCallMatch(text, { name: 'tea.brew', parameters })));
  });

  it('wants the block at the end, and a call a line', () => {
    const spec = specOf(apiBank, task);
    expect(apiBank.score(spec, `${right}\nDone.`)).toEqual({ reward: 0, wellFormed: false });
    expect(apiBank.score(spec, answer({ name: 'tea.brew', parameters }).replace('}\n', '}\nwell\n'))).toEqual(
      { reward: 0, wellFormed: false },
    );
    expect(apiBank.agentPrompt(spec)).toContain("Parameters: {'cups': {'type': 'int'}");
    expect(apiBank.agentPrompt(spec)).toContain('<user>Two cups of strong Earl Grey please, milk in.</user>');
  });

  it('has no value that ends a block of calls', () => {
    for (const leaf of ['<tool_call>', '</tool_call>'])
      expect(reasonOf(apiBank, accepting({ leaf: [leaf] }))).toBe('unsolvable');
  });

  it('has no loose texts', () => {
    expect([exactText('a-b', 'ab'), looseText('a-b', 'AB')]).toEqual([false, true]);
  });
});

describe('a text of the simulator', () => {
  it.each<[string, unknown, string]>([
    ['a call of a tool that is not there', withCall({ name: 'coffee' }), 'unknown_tool'],
    ['two tools of one name', { ...task, tools: [brew, brew] }, 'unknown_tool'],
    ['a missing required argument', withCall({ arguments: { leaf: ['Green'] } }), 'wrong_arguments'],
    ['an argument that the tool has not', accepting({ pot: ['blue'] }), 'wrong_arguments'],
    ['an inherited name as argument', accepting({ toString: ['x'] }), 'wrong_arguments'],
    ['a value of another type', accepting({ cups: ['two'] }), 'wrong_arguments'],
    ['half a cup', accepting({ cups: [0.5] }), 'wrong_arguments'],
    ['a value outside of the choices', accepting({ sugar: ['three'] }), 'wrong_arguments'],
    ['an item of another form', accepting({ extras: [[{ title: 'ice' }]] }), 'wrong_arguments'],
    ['the empty text for a required number', accepting({ cups: [2, ''] }), 'wrong_arguments'],
    ['either truth value accepted', accepting({ milk: [true, false] }), 'anything_accepted'],
    ['every choice accepted', accepting({ sugar: ['none', 'one', 'two'] }), 'anything_accepted'],
    ['the same call twice', { ...task, calls: [task.calls[0]!, task.calls[0]!] }, 'repeated_call'],
    [
      'a required parameter that is none',
      { ...task, tools: [{ ...brew, required: ['leaf', 'cups', 'pot'] }] },
      'wrong_tools',
    ],
    [
      'choices of another type',
      { ...task, tools: [brew, { ...warm, parameters: { cups: { type: 'integer', enum: ['one'] } } }] },
      'wrong_tools',
    ],
    [
      'a dialogue that ends with the assistant',
      { ...task, dialogue: [...task.dialogue, { role: 'assistant', content: 'Sure.' }] },
      'no_request',
    ],
    [
      'the call in Python in the dialogue',
      {
        ...task,
        dialogue: [{ role: 'user', content: "Run tea.brew(leaf='earl grey', cups=2, milk=True) please." }],
      },
      'answer_in_prompt',
    ],
    [
      'the call in JSON in the dialogue',
      {
        ...task,
        dialogue: [
          {
            role: 'user',
            content: `Run ${JSON.stringify({ name: 'tea.brew', arguments: { leaf: 'Earl Grey', cups: 2, milk: true } })}.`,
          },
        ],
      },
      'answer_in_prompt',
    ],
    [
      'a turn of its own',
      { ...task, dialogue: [{ role: 'user', content: 'Tea.<|im_end|>' }] },
      'control_token',
    ],
    ['a value that ends the reasoning', accepting({ leaf: ['</think>'] }), 'unsolvable'],
    ['other fields', { ...task, difficulty: 9 }, 'wrong_schema'],
    ['no calls', { ...task, calls: [] }, 'wrong_schema'],
    ['no JSON', 'Sure!', 'not_json'],
  ])('with %s is no task', (_, text, reason) => {
    expect(reasonOf(bfcl, task)).toBe('valid');
    expect(reasonOf(bfcl, text)).toBe(reason);
  });

  it('is of a category that the settings allow', async () => {
    const single = await shippedWorld('calls', {
      categories: ['simple', 'multiple', 'parallel', 'parallel_multiple'],
    });
    expect(reasonOf(single, task)).toBe('valid');
    await expect(shippedWorld('calls', { categories: ['simple'] })).rejects.toThrow(
      'it is no task (kind_not_allowed)',
    );
  });

  it('is put to the vote: answers agree as calls, not as texts', () => {
    const spec = specOf(bfcl, task);
    const vote = bfcl.vote!;
    expect(vote.needed(spec)).toBe(true);
    const wrong = [
      "[tea.brew(leaf='Green', cups=1)]",
      "[tea.brew(cups=1, leaf='green')]",
      '[ tea.brew(leaf="GREEN", cups=1) ]',
    ];
    expect(vote.tally(spec, [bfcl.referenceAnswer(spec), ...wrong, '?'])).toEqual({
      agreeing: 1,
      disputed: true,
    });
    expect(vote.tally(spec, [bfcl.referenceAnswer(spec), bfcl.referenceAnswer(spec), '?', '?', '?'])).toEqual(
      { agreeing: 2, disputed: false },
    );
  });
});
