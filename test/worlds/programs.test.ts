import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory, updateHistory } from '../../src/coevolution/agent-history.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { parseProgram } from '../../src/worlds/programs/parse.ts';
import { isHeldOut, printProgram, programKey } from '../../src/worlds/programs/program.ts';
import type { Program } from '../../src/worlds/programs/program.ts';
import { mistake } from '../../src/worlds/programs/vary.ts';
import { writeAnswer } from '../../src/worlds/programs/answer.ts';
import { allTools, families, usualTools } from '../../src/worlds/programs/tools.ts';
import type { Tool } from '../../src/worlds/programs/tools.ts';
import { isAssignable } from '../../src/worlds/programs/values.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { worldProblems, worldSettings } from '../../src/worlds/settings.ts';
import { readEbnf } from './ebnf.ts';
import { readRequest } from './programs-support.ts';

const createPrograms = (changes: object = {}) =>
  createWorld(worldSettings.parse({ type: 'programs', ...changes }));
const world = createPrograms();
const limits = { maxCalls: 6, maxDepth: 4 };

/** A program of one to six calls, as training has them. */
const aSpec = fc
  .tuple(fc.integer({ min: 1, max: 6 }), fc.nat())
  .map(([calls, seed]) => world.taskAt!(calls, randomStream(seed)));
const heldOut = world.heldOutTasks(randomStream(1));
const anySpec = fc.oneof({ weight: 3, arbitrary: aSpec }, fc.constantFrom(...heldOut));

const programOf = (spec: string): Program => {
  const parsed = parseProgram(spec, { maxCalls: 99, maxDepth: 99 }, true);
  if ('reason' in parsed) throw new Error(`${spec}: ${parsed.reason}`);
  return parsed.program;
};
const requestOf = (spec: string): string => (world.renderTask(spec) as { request: string }).request;
const reasonOf = (text: string): string => {
  const parsed = world.parseTask(text);
  return parsed.valid ? `a task: ${parsed.spec}` : parsed.reason;
};

describe('a line of the simulator', () => {
  it.each([
    ['multiply(add(17, 5), 9)', 'multiply(add(17, 5), 9)'],
    [" upper( 'rain' ) ;add(3,4)\n", 'upper("rain"); add(3, 4)'],
    ['upper(favourite_of("Anna"))', 'upper(favourite_of("Anna"))'],
    ['take_first([3, 1, 2], 007)', 'take_first([3, 1, 2], 7)'],
    ['weekday("2028-02-29")', 'weekday("2028-02-29")'],
  ])('%s is the task %s', (text, spec) => {
    expect(world.parseTask(text)).toEqual({ valid: true, spec });
  });

  it.each([
    ['', 'empty'],
    ['Sure! Here is one:', 'not_a_program'],
    ['add(1, 2), add(3, 4)', 'not_a_program'],
    ['add(1, 2', 'not_a_program'],
    ['add(1, 2,)', 'not_a_program'],
    ['add(1, 2);', 'not_a_program'],
    ['7', 'not_a_program'],
    ['add(a=1, b=2)', 'not_a_program'],
    ['add(1, 2)\nadd(3, 4)', 'several_lines'],
    [`upper("${'a'.repeat(1300)}")`, 'too_long'],
    ['process.exit(1)', 'not_a_program'],
    ['constructor(1)', 'unknown_tool'],
    ['Add(1, 2)', 'unknown_tool'],
    ['add(1)', 'wrong_arguments'],
    ['add(1, 2, 3)', 'wrong_arguments'],
    ['upper(add(1, 2))', 'wrong_arguments'],
    ['add("one", 2)', 'wrong_arguments'],
    ['weekday("rain")', 'wrong_arguments'],
    ['manager_of(city_of("Anna"))', 'wrong_arguments'],
    ['add(1000, 2)', 'value_out_of_range'],
    ['add(-1, 2)', 'value_out_of_range'],
    ['add(1.5, 2)', 'value_out_of_range'],
    ['upper("two words")', 'value_out_of_range'],
    ['weekday("2023-02-29")', 'value_out_of_range'],
    ['weekday("1999-12-31")', 'value_out_of_range'],
    ['sum_list([4])', 'value_out_of_range'],
    ['manager_of("Zaphod")', 'unknown_name'],
    ['price_of("Anna")', 'unknown_name'],
    ['add(add(1, add(1, add(1, add(1, 2)))), 3)', 'too_deep'],
    ['upper("a"); upper("b"); upper("c"); upper("d"); upper("e"); upper("f"); upper("g")', 'too_many_calls'],
    ['add(1, 2); add(2, 1)', 'repeated_call'],
    ['average(1, 2)', 'held_out_tool'],
    ['add(1, owner_of("lamp"))', 'wrong_arguments'],
    ['manager_of(owner_of("lamp"))', 'held_out_tool'],
    ['add(650, 2)', 'held_out_value'],
    ['upper("Winter")', 'held_out_value'],
    ['weekday("2017-03-01")', 'held_out_value'],
    ['age_of("Olga")', 'held_out_value'],
    ['sum_list([1, 2, 799])', 'held_out_value'],
  ])('%s is no task: %s', (text, reason) => {
    expect(reasonOf(text)).toBe(reason);
  });

  it('is its own canonical form once it is a task', () => {
    fc.assert(
      fc.property(aSpec, (spec) => {
        expect(world.parseTask(spec)).toEqual({ valid: true, spec });
        expect(printProgram(programOf(spec))).toBe(spec);
        expect(world.parseTask(spec.replaceAll(' ', '').replaceAll('"', "'"))).toEqual({ valid: true, spec });
      }),
    );
  });
});

describe('a request', () => {
  it('has one reading, whatever is nested in what', () => {
    fc.assert(
      fc.property(anySpec, (spec) => {
        expect(readRequest(requestOf(spec)), requestOf(spec)).toEqual([spec]);
      }),
      { numRuns: 300 },
    );
  });

  it('has one reading for every phrase within every phrase', () => {
    const literals = {
      number: '17',
      text: '"rain"',
      date: '5 March 2024',
      list: '3, 1, 2',
      person: 'Anna',
      item: 'the lamp',
    };
    const fill = (phrase: string, { parameters }: Tool, place?: string, inner = ''): string =>
      phrase.replace(/\{(\w+)\}/g, (_, name: string) =>
        name === place ? inner : literals[parameters[name]!],
      );
    let texts = 0;
    for (const outer of allTools)
      for (const [place, type] of Object.entries(outer.parameters))
        for (const inner of allTools.filter(({ result }) => isAssignable(result, type)))
          for (const phrase of outer.phrases)
            for (const nested of inner.phrases) {
              const text = `Find ${fill(phrase, outer, place, fill(nested, inner))}.`;
              expect(readRequest(text), text).toHaveLength(1);
              texts += 1;
            }
    expect(texts).toBeGreaterThan(3000);
  });

  it('has phrases that begin with words of their own and name each parameter once', () => {
    for (const { name, phrases, parameters } of allTools) {
      expect(new Set(phrases).size, name).toBeGreaterThan(1);
      for (const phrase of phrases) {
        const named = [...phrase.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter);
        expect(named.sort(), phrase).toEqual(Object.keys(parameters).sort());
        expect(phrase, name).toMatch(/^[a-z]/);
      }
    }
    const all = allTools.flatMap(({ phrases }) => phrases.map((phrase) => phrase.replace(/\{\w+\}/g, '{}')));
    expect(all.filter((phrase, index) => all.indexOf(phrase) !== index)).toEqual([]);
  });

  it('lists the tools it needs and some that it does not, none of them new unless one is needed', () => {
    const wrong = new Set<number>();
    fc.assert(
      fc.property(aSpec, (spec) => {
        const { tools } = world.renderTask(spec) as { tools: string[] };
        const needed = new Set(spec.match(/[a-z_]+(?=\()/g));
        expect(tools).toEqual(expect.arrayContaining([...needed]));
        expect(new Set(tools).size).toBe(tools.length);
        expect(usualTools.map(({ name }) => name)).toEqual(expect.arrayContaining(tools));
        wrong.add(tools.length - needed.size);
      }),
    );
    expect([...wrong].sort()).toEqual([1, 2, 3]);
  });

  it('is framed as the settings say', () => {
    const prompt = createPrograms({ format: 'chatml' }).agentPrompt('subtract(17, 5)');
    expect(prompt).toMatch(
      /^<\|im_start\|>system\nAnswer with calls alone.*subtract\(a, b\).*<\|im_end\|>\n/,
    );
    expect(prompt).toMatch(/<\|im_start\|>assistant\n$/);
  });
});

describe('an answer', () => {
  const spec = 'subtract(add(17, 5), 9); upper("rain")';
  it.each([
    ["[subtract(a=add(a=17, b=5), b=9), upper(text='rain')]", 1],
    ['[ upper( text = "rain" ),subtract(b=9,a=add(b=17,a=5))]', 1],
    ["[subtract(a=add(a=17, b=5), b=9), upper(text='Rain')]", 0],
    ["[subtract(a=9, b=add(a=17, b=5)), upper(text='rain')]", 0],
    ["[subtract(a=22, b=9), upper(text='rain')]", 0],
    ["[subtract(a=add(a=17, b=5), b=9), upper(text='rain'), upper(text='rain')]", 0],
    ["[subtract(a=add(a=17, b=5), b=9, c=1), upper(text='rain')]", 0],
    ["[subtract(a='add(a=17, b=5)', b=9), upper(text='rain')]", 0],
    ["[subtract(a={'name': 'add', 'arguments': {'a': 17, 'b': 5}}, b=9), upper(text='rain')]", 0],
    ['[subtract(a=add(a=17, b=5), b=9)]', 0],
  ])('%s earns %i', (answer, reward) => {
    expect(world.score(spec, answer)).toEqual({ reward, wellFormed: true });
  });

  it.each([
    "subtract(a=add(a=17, b=5), b=9), upper(text='rain')",
    "[subtract(add(17, 5), 9), upper('rain')]",
    "The calls: [subtract(a=add(a=17, b=5), b=9), upper(text='rain')]",
    "[subtract(a=add(a=17, b=5), b=9), upper(text='rain')] done",
    '[subtract(a=17+5, b=9)]',
    '[]',
    '',
    `[upper(text=${'upper(text='.repeat(9000)}`,
  ])('%.60s is not in the form, and earns nothing', (answer) => {
    expect(world.score(spec, answer)).toEqual({ reward: 0, wellFormed: false });
    expect(world.failure!(spec, answer)).toBe('no parse');
  });

  it.each([
    ['[subtract(a=add(a=17, b=5), b=9)]', 'wrong number of calls'],
    ["[subtract(a=22, b=9), upper(text='rain')]", 'wrong number of calls'],
    ["[subtract(a=add(a=17, b=5), b=9), lower(text='rain')]", 'wrong tool'],
    ["[subtract(a=add(a=17, b=5), b=8), upper(text='rain')]", 'wrong argument'],
    ["[subtract(a=9, b=add(a=17, b=5)), upper(text='rain')]", 'wrong argument'],
  ])('%s fails for: %s', (answer, reason) => {
    expect(world.failure!(spec, answer)).toBe(reason);
  });

  it('earns 1 if it is the reference, and 0 with any mistake, nothing done, or a copy of the prompt', () => {
    fc.assert(
      fc.property(anySpec, fc.nat(), (task, seed) => {
        const wrong = mistake(programOf(task), randomStream(seed));
        expect(world.score(task, world.referenceAnswer(task))).toEqual({ reward: 1, wellFormed: true });
        expect(world.score(task, writeAnswer(wrong)), writeAnswer(wrong)).toEqual({
          reward: 0,
          wellFormed: true,
        });
        for (const idle of ['', '[]', task, `[${task}]`, world.agentPrompt(task), requestOf(task)])
          expect(world.score(task, idle).reward, idle).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('is hardly ever right by chance', () => {
    const random = randomStream(5);
    const solved = Array.from({ length: 2000 }, () => {
      const task = world.taskAt!(2, random);
      return world.score(task, world.randomAnswer(task, random)).reward;
    }).reduce<number>((sum, reward) => sum + reward, 0);
    expect(solved / 2000).toBeLessThan(0.05);
  });
});

describe('tasks', () => {
  const base = world.baseTasks(randomStream(2));

  it('are held out by family and number of calls, and with tools and values that are never seen', () => {
    const cells = Map.groupBy(heldOut, (spec) => {
      const { part, family, calls } = world.latents(spec);
      return part === 'usual' ? `${family} ${calls}` : `${part} ${family}`;
    });
    expect([...cells.keys()].sort()).toEqual(
      families
        .flatMap((family) => [
          ...[1, 2, 3, 4].map((calls) => `${family} ${calls}`),
          `unseen_tools ${family}`,
          `unseen_values ${family}`,
        ])
        .sort(),
    );
    expect(new Set([...cells.values()].map(({ length }) => length))).toEqual(new Set([4]));
    expect(new Set(heldOut).size).toBe(heldOut.length);
    for (const spec of heldOut) {
      const { part } = world.latents(spec);
      expect(world.kind(spec).startsWith('unseen_')).toBe(part !== 'usual');
      if (part === 'usual') expect(isHeldOut(programOf(spec)), spec).toBe(true);
      else expect(reasonOf(spec)).toBe(part === 'unseen_tools' ? 'held_out_tool' : 'held_out_value');
    }
  });

  it('are never held-out ones in the base tasks and in both corpora', () => {
    const corpora = (['agent', 'environment'] as const).flatMap((policy) => [
      ...world.warmUpCorpus(policy, 500, randomStream(3)),
    ]);
    const lines = [
      ...base,
      ...corpora.flatMap(({ prompt }) => /Vary: (.*)/.exec(prompt)?.[1] ?? []),
      ...corpora.filter(({ prompt }) => prompt.includes('Vary: ')).map(({ completion }) => completion),
    ];
    expect(lines).toHaveLength(base.length + 1000);
    for (const line of lines) {
      expect(reasonOf(line)).toBe(`a task: ${line}`);
      expect(isHeldOut(programOf(line)), line).toBe(false);
    }
    const reserved = allTools.filter(({ isReserved }) => isReserved).map(({ name }) => `${name}(`);
    const answers = corpora.filter(({ prompt }) => !prompt.includes('Vary: '));
    for (const { prompt, completion } of answers)
      for (const name of reserved) expect(prompt + completion).not.toContain(name);
  });

  it('have as many calls as the settings say', () => {
    const sizes = (specs: readonly string[]) => new Set(specs.map((spec) => world.difficulty(spec)));
    expect(sizes(base)).toEqual(new Set([2, 3]));
    const hard = createPrograms({ baseCalls: [5, 6], baseTasks: 20 }).baseTasks(randomStream(2));
    expect(sizes(hard)).toEqual(new Set([5, 6]));
    expect(world.difficulty(world.taskAt!(40, randomStream(1)))).toBe(6);
    const flat = createPrograms({ maxDepth: 1 }).baseTasks(randomStream(2));
    expect(new Set(flat.map((spec) => world.latents(spec).depth))).toEqual(new Set([1]));
  });

  it('differ in more than the number of calls', () => {
    const spec = 'multiply(add(17, count_letters("rain")), 9); upper("rain")';
    expect(world.latents(spec)).toMatchObject({
      part: 'usual',
      family: 'arithmetic',
      calls: 4,
      depth: 3,
      parallel: 2,
      families: 2,
      literals: 4,
      digits: 2,
    });
    expect(world.kind(spec)).toBe('arithmetic_4');
    expect(world.signature!(spec)).toBe('multiply add count_letters upper');
  });
});

describe('the warm-up corpus', () => {
  it('shows the agent right answers, or a share of wrong ones in the same form', () => {
    const rows = (wrongAnswers: number) => [
      ...createPrograms({ warmUp: { wrongAnswers } }).warmUpCorpus('agent', 400, randomStream(4)),
    ];
    // The prompt names no spec, so rows are told apart by reading the request back.
    const isRight = ({ prompt, completion }: { prompt: string; completion: string }): boolean => {
      const [spec = ''] = readRequest(prompt.trim().split('\n').at(-1)!);
      expect(world.score(spec, completion).wellFormed).toBe(true);
      return world.score(spec, completion).reward === 1;
    };
    expect(rows(0).every(isRight)).toBe(true);
    const wrong = rows(0.5).filter((row) => !isRight(row)).length;
    expect(wrong).toBeGreaterThan(150);
    expect(wrong).toBeLessThan(250);
  });

  it('shows the simulator variations, with a history that says nothing about them', () => {
    const rows = [...world.warmUpCorpus('environment', 1500, randomStream(4))].map(
      ({ prompt, completion }) => {
        const seed = /Vary: (.*)/.exec(prompt)![1]!;
        return { success: /Success: (.)/.exec(prompt)![1]!, seed, completion };
      },
    );
    const sizesAfter = (succeeds: boolean): number => {
      const kept = rows.filter(({ success }) => success !== '-' && Number(success) >= 5 === succeeds);
      return kept.reduce((sum, { completion }) => sum + world.difficulty(completion), 0) / kept.length;
    };
    expect(Math.abs(sizesAfter(true) - sizesAfter(false))).toBeLessThan(0.25);
    for (const { seed, completion } of rows.slice(0, 300))
      expect(programKey(programOf(completion)), seed).not.toBe(programKey(programOf(seed)));
    const changes = new Set(
      rows.map(({ seed, completion }) => Math.sign(world.difficulty(completion) - world.difficulty(seed))),
    );
    expect(changes).toEqual(new Set([-1, 0, 1]));
  });
});

describe('the simulator’s prompt', () => {
  it('tells success by family and by number of calls, failures, and what was written too often', () => {
    const outcome = (kind: string, successes: number, signature: string) => ({
      kind,
      successes,
      attempts: 10,
      difficulty: Number(kind.slice(-1)),
      signature,
      failure: 'wrong argument',
    });
    const history = updateHistory(
      emptyHistory(),
      [
        outcome('dates_2', 6, 'add_days weekday'),
        outcome('dates_1', 9, 'weekday'),
        outcome('lists_2', 0, 'weekday'),
      ],
      { window: 2 },
    );
    expect(world.environmentPrompt(history, 'add(1, 2)').split('\n').slice(2)).toEqual([
      'Success: 5, arithmetic -, text -, dates 7, lists 0, database -',
      'By calls: 1: 9, 2: 3, 3: -, 4: -',
      'Failed: lists 2 wrong argument',
      'Too often: weekday',
      'Vary: add(1, 2)',
      '',
    ]);
  });
});

describe('the grammar for servers with structured outputs', () => {
  const ebnf = readEbnf(world.taskGrammar!);

  it('has nothing but tasks, and texts that are none for a reason that it cannot say', () => {
    const random = randomStream(6);
    const reasons = Map.groupBy(
      Array.from({ length: 3000 }, () => ebnf.draw(random)),
      (text) => (world.parseTask(text).valid ? 'valid' : reasonOf(text)),
    );
    expect([...reasons.keys()].sort()).toEqual(expect.arrayContaining(['too_many_calls', 'valid']));
    expect(
      [...reasons.keys()].filter(
        (key) => !['valid', 'too_many_calls', 'repeated_call', 'too_long'].includes(key),
      ),
    ).toEqual([]);
    expect(reasons.get('valid')!.length).toBeGreaterThan(500);
    for (const text of reasons.get('valid')!)
      expect(world.parseTask(text)).toEqual({ valid: true, spec: text });
  });

  it('has every task in its canonical form, and none with something held out', () => {
    fc.assert(
      fc.property(aSpec, (spec) => {
        expect(ebnf.accepts(spec)).toBe(true);
      }),
    );
    for (const spec of heldOut) expect(ebnf.accepts(spec), spec).toBe(world.parseTask(spec).valid);
    for (const text of ['add(1, 2);', 'add(1,2)', 'add(007, 1)', 'upper(add(1, 2))', 'weekday("2023-02-29")'])
      expect(ebnf.accepts(text), text).toBe(false);
    expect(ebnf.accepts('weekday("2024-02-29")')).toBe(true);
    expect(readEbnf(createPrograms(limits).taskGrammar!).accepts('add(1, 2)')).toBe(true);
  });

  it('follows the limits', () => {
    const flat = readEbnf(
      createPrograms({ maxCalls: 1, maxDepth: 1, baseCalls: [1, 1], heldOutCalls: [1, 1] }).taskGrammar!,
    );
    expect(flat.accepts('add(1, 2)')).toBe(true);
    expect(flat.accepts('add(1, add(1, 2))')).toBe(false);
    expect(flat.accepts('add(1, 2); add(1, 3)')).toBe(false);
  });
});

it('refuses settings that do not go together', () => {
  const problems = (changes: object) => [
    ...worldProblems(worldSettings.parse({ type: 'programs', ...changes })),
  ];
  expect(problems({})).toEqual([]);
  expect(problems({ baseCalls: [3, 2], maxCalls: 2, heldOutCalls: [1, 2] })).toEqual([
    'world.baseCalls: got [3, 2]; expected the fewer calls first',
    'world.baseCalls: got [3, 2]; expected at most maxCalls (2)',
  ]);
  expect(problems({ wrongTools: [3, 1], warmUp: { calls: [1, 9] } })).toEqual([
    'world.warmUp.calls: got [1, 9]; expected at most maxCalls (6)',
    expect.stringMatching(/^world.wrongTools: got \[3, 1\]; expected the fewer tools first/),
  ]);
});
