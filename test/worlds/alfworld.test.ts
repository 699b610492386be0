import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { referenceActions } from '../../src/worlds/alfworld/solve.ts';
import { alfworldSettings } from '../../src/worlds/alfworld/settings.ts';
import { parseHouse } from '../../src/worlds/alfworld/task.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';
import { readEbnf } from './ebnf.ts';

const settings = alfworldSettings.parse({ type: 'alfworld' });
const words = createWorld(settings);
const codes = createWorld({ ...settings, form: 'codes' });
const answer = (...actions: string[]) => actions.join('\n');

/** What the agent reads after each action. */
const heard = (world: typeof words, spec: string, actions: readonly string[]): string[] =>
  actions.map((_, index) => world.turns!.observe(spec, actions.slice(0, index + 1), null).text);

describe('a task', () => {
  it.each([
    [
      'pm>K|Cm,K',
      'p',
      [
        'go to cabinet 1',
        'open cabinet 1',
        'take mug 1 from cabinet 1',
        'go to desk 1',
        'move mug 1 to desk 1',
      ],
    ],
    [
      'cm>H|Tm,S,H',
      'c',
      [
        'go to countertop 1',
        'take mug 1 from countertop 1',
        'go to sinkbasin 1',
        'clean mug 1 with sinkbasin 1',
        'go to shelf 1',
        'move mug 1 to shelf 1',
      ],
    ],
    [
      'he>K|Te,M,K',
      'h',
      [
        'go to countertop 1',
        'take egg 1 from countertop 1',
        'go to microwave 1',
        'heat egg 1 with microwave 1',
        'go to desk 1',
        'move egg 1 to desk 1',
      ],
    ],
    [
      'ka>F|Ta,F',
      'k',
      [
        'go to countertop 1',
        'take apple 1 from countertop 1',
        'go to fridge 1',
        'cool apple 1 with fridge 1',
        'open fridge 1',
        'move apple 1 to fridge 1',
      ],
    ],
    ['lb>l|Hb,Kl', 'l', ['go to shelf 1', 'take bowl 1 from shelf 1', 'go to desk 1', 'use desklamp 1']],
    [
      'dp>T|Hpp,T',
      'd',
      [
        'go to shelf 1',
        'take plate 1 from shelf 1',
        'go to countertop 1',
        'move plate 1 to countertop 1',
        'go to shelf 1',
        'take plate 2 from shelf 1',
        'go to countertop 1',
        'move plate 2 to countertop 1',
      ],
    ],
    // It looks where it could be before it finds it, and finds it only by looking.
    [
      'pm>K|C,D,Hm,K',
      'p',
      [
        'go to cabinet 1',
        'open cabinet 1',
        'go to drawer 1',
        'open drawer 1',
        'go to shelf 1',
        'take mug 1 from shelf 1',
        'go to desk 1',
        'move mug 1 to desk 1',
      ],
    ],
  ])('%s is of the kind %s, and is solved by a player that searches', (spec, kind, actions) => {
    expect(words.parseTask(spec)).toEqual({ valid: true, spec });
    expect(words.referenceAnswer(spec).split('\n')).toEqual(actions);
    expect([words.kind(spec), words.difficulty(spec)]).toEqual([kind, actions.length]);
    expect(words.score(spec, answer(...actions))).toEqual({ reward: 1, wellFormed: true });
    expect(words.score(spec, answer(...actions.slice(0, -1)))).toEqual({ reward: 0, wellFormed: true });
    expect(codes.score(spec, codes.referenceAnswer(spec))).toEqual({ reward: 1, wellFormed: true });
    expect(codes.difficulty(spec)).toBe(actions.length);
  });

  it.each([
    ['', 'empty'],
    ['pm>K', 'unparsable'],
    ['pm>K|', 'unparsable'],
    ['pm>K|Cm,K,', 'unparsable'],
    ['xm>K|Cm,K', 'unparsable'],
    ['lb>K|Hb,Kl', 'unparsable'],
    ['px>T|Cx,T', 'bad_goal'],
    ['pm>Z|Cm,K', 'bad_goal'],
    ['pl>T|Cl,K', 'bad_goal'],
    ['pm>K|Cm,K,Z', 'bad_room'],
    ['pm>K|Cmz,K', 'bad_room'],
    ['pm>K|Cm,K,H,H,H,H,H', 'too_many_receptacles'],
    ['pm>K|Cmmmm,K', 'too_many_objects'],
    ['pm>K|Cmaa,Kaaa,Ha', 'too_many_objects'],
    [`pm>K|Cm,K${',H'.repeat(100_000)}`, 'too_long'],
    ['pm>K|Ce,K', 'no_object'],
    ['dm>K|Cm,K', 'no_object'],
    ['pm>K|Cm,H', 'no_target'],
    ['lb>l|Hb,K', 'no_lamp'],
    ['hb>T|Tb,M,H', 'no_such_treatment'],
    ['cm>K|Km,H', 'no_tool'],
    ['pm>K|Km,C', 'already_true'],
    ['de>T|C,D,F,M,Cee,T', 'too_many_actions'],
    ['pa>C|Ta,C', 'held_out_goal'],
  ])('%.40s is none: %s', (text, reason) => {
    expect(words.parseTask(text)).toEqual({ valid: false, reason });
  });

  it('is won by the goal of its game alone', () => {
    // Cleaned, but then put elsewhere; heated after it was cooled; two plates in two shelves.
    expect(
      words.score(
        'cm>H|Tm,S,H',
        answer(
          'go to countertop 1',
          'take mug 1 from countertop 1',
          'go to shelf 1',
          'move mug 1 to shelf 1',
        ),
      ),
    ).toEqual({ reward: 0, wellFormed: true });
    const cooled = [
      'go to countertop 1',
      'take apple 1 from countertop 1',
      'go to fridge 1',
      'cool apple 1 with fridge 1',
    ];
    const heated = [
      'go to microwave 1',
      'heat apple 1 with microwave 1',
      'go to shelf 1',
      'move apple 1 to shelf 1',
    ];
    expect(words.score('ka>H|Ta,F,M,H', answer(...cooled, ...heated)).reward).toBe(0);
    expect(words.score('ha>H|Ta,F,M,H', answer(...cooled, ...heated)).reward).toBe(1);
    const plates = [
      'go to desk 1',
      'take plate 1 from desk 1',
      'go to shelf 1',
      'move plate 1 to shelf 1',
      'go to desk 1',
      'take plate 2 from desk 1',
    ];
    expect(
      words.score('dp>H|Kpp,H,H', answer(...plates, 'go to shelf 2', 'move plate 2 to shelf 2')).reward,
    ).toBe(0);
    expect(
      words.score('dp>H|Kpp,H,H', answer(...plates, 'go to shelf 1', 'move plate 2 to shelf 1')).reward,
    ).toBe(1);
    // The lamp of another place does not light what is read here.
    expect(
      words.score(
        'lb>l|Hb,Kl,T',
        answer('go to desk 1', 'use desklamp 1', 'go to shelf 1', 'take bowl 1 from shelf 1'),
      ).reward,
    ).toBe(0);
  });

  it('is hardly ever solved by random commands', () => {
    const random = randomStream(3);
    const rates = codes.heldOutTasks(randomStream(1)).map((spec) => {
      const rewards = Array.from(
        { length: 100 },
        () => codes.score(spec, codes.randomAnswer(spec, random)).reward,
      );
      return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
    });
    expect(Math.max(...rates)).toBeLessThan(0.1);
    expect(rates.reduce((sum, rate) => sum + rate, 0) / rates.length).toBeLessThan(0.01);
  });

  it('with a goal that is held out is never written, drawn for training or in a corpus', () => {
    const isHeldOut = (spec: string) => codes.latents(spec).part === 'unseen_goal';
    const heldOut = codes.heldOutTasks(randomStream(1));
    expect(heldOut.every(isHeldOut)).toBe(true);
    for (const spec of heldOut)
      expect(codes.parseTask(spec)).toEqual({ valid: false, reason: 'held_out_goal' });
    expect(codes.baseTasks(randomStream(1)).some(isHeldOut)).toBe(false);
    const goals = new Set(heldOut.map((spec) => spec.slice(0, 4)));
    for (const policy of ['agent', 'environment'] as const)
      for (const { prompt, completion } of codes.warmUpCorpus(policy, 500, randomStream(2)))
        for (const goal of goals)
          expect(prompt.includes(`${goal}|`) || completion.includes(`${goal}|`)).toBe(false);
  });

  it('is held out for each goal type and number of actions', () => {
    const cells = new Map<string, number>();
    for (const spec of words.heldOutTasks(randomStream(1))) {
      const cell = words.kind(spec) + String(words.difficulty(spec));
      cells.set(cell, (cells.get(cell) ?? 0) + 1);
    }
    expect(Math.max(...cells.values())).toBe(settings.heldOutPerCell);
    for (const kind of 'pchkld')
      for (let steps = 7; steps <= 12; steps++)
        expect(cells.get(kind + String(steps)), kind + String(steps)).toBe(2);
  });

  it.each([4, 8, 12])('of about %d actions can be asked for', (steps) => {
    expect(words.difficulty(words.taskAt!(steps, randomStream(1)))).toBe(steps);
  });
});

describe('what the agent reads', () => {
  const spec = 'cm>F|C,Tme,S,F,Kl';

  it('is what ALFWorld says', () => {
    expect(words.agentPrompt(spec)).toContain(
      'You are in the middle of a room. Looking quickly around you, you see a cabinet 1, a countertop 1, a sinkbasin 1, a fridge 1, and a desk 1.\n\nYour task is to: ',
    );
    expect(words.agentPrompt(spec)).toMatch(
      /put a clean mug in fridge\.|clean some mug and put it in fridge\./,
    );
    expect(
      heard(words, spec, [
        'look',
        'inventory',
        'open cabinet 1',
        'go to cabinet 1',
        'open cabinet 1',
        'close cabinet 1',
        'go to countertop 1',
        'take mug 1 from countertop 1',
        'inventory',
        'go to sinkbasin 1',
        'clean mug 1 with sinkbasin 1',
        'go to desk 1',
        'use desklamp 1',
        'move mug 1 to desk 1',
      ]),
    ).toEqual([
      '\nYou are in the middle of a room. Looking quickly around you, you see a cabinet 1, a countertop 1, a sinkbasin 1, a fridge 1, and a desk 1.\n',
      '\nYou are not carrying anything.\n',
      '\nNothing happens.\n',
      '\nYou arrive at cabinet 1. The cabinet 1 is closed.\n',
      '\nYou open the cabinet 1. The cabinet 1 is open. In it, you see nothing.\n',
      '\nYou close the cabinet 1.\n',
      '\nYou arrive at countertop 1. On the countertop 1, you see a mug 1, and a egg 1.\n',
      '\nYou pick up the mug 1 from the countertop 1.\n',
      '\nYou are carrying: a mug 1.\n',
      '\nYou arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.\n',
      '\nYou clean the mug 1 using the sinkbasin 1.\n',
      '\nYou arrive at desk 1. On the desk 1, you see a desklamp 1.\n',
      '\nYou turn on the desklamp 1.\n',
      '\nYou move the mug 1 to the desk 1.\n',
    ]);
  });

  it('is nothing of what is closed, and no treatment where there is no tool', () => {
    const closed = ['go to cabinet 1', 'take mug 1 from cabinet 1', 'open cabinet 1', 'close cabinet 1'];
    const after = heard(words, 'hm>K|Cm,K,S,M', [...closed, 'take mug 1 from cabinet 1']);
    expect(after[1]).toBe('\nNothing happens.\n');
    expect(after[4]).toBe('\nNothing happens.\n');
    const held = ['go to cabinet 1', 'open cabinet 1', 'take mug 1 from cabinet 1', 'go to sinkbasin 1'];
    const atSink = heard(words, 'hm>K|Cm,K,S,M', [...held, 'heat mug 1 with sinkbasin 1']);
    expect(atSink[4]).toBe('\nNothing happens.\n');
    const atMicrowave = ['go to microwave 1', 'move mug 1 to microwave 1', 'heat mug 1 with microwave 1'];
    expect(heard(words, 'hm>K|Cm,K,S,M', [...held, ...atMicrowave]).slice(5)).toEqual([
      '\nNothing happens.\n',
      '\nYou heat the mug 1 using the microwave 1.\n',
    ]);
  });

  it('is the same after a command with a line break at its end', () => {
    expect(heard(words, spec, ['look ', 'go to desk 1 '])).toEqual(
      heard(words, spec, ['look', 'go to desk 1']),
    );
  });

  it('is the same in codes', () => {
    expect(codes.agentPrompt(spec)).toBe('cm>F|C1T1S1F1K1__=');
    expect(
      heard(codes, spec, [
        'oC1',
        'gC1',
        'oC1',
        'sC1',
        'gT1',
        'tm1',
        'gS1',
        'nm1',
        'gK1',
        'ul1',
        'pm1',
        'gK1',
      ]),
    ).toEqual(['?=', 'x=', '-=', 'ok=', 'm1e1=', 'ok=', '-=', 'ok=', 'l1=', 'ok=', 'ok=', 'l1m1=']);
  });

  it.each([
    'go to fridge 2',
    'Go to desk 1',
    'go to desk 1.',
    ' go to desk 1',
    'take egg 1 from fridge 1',
    'take desklamp 1 from desk 1',
    'move mug 1 to desk 1',
    'heat mug 1 with sinkbasin 1',
    'use mug 1',
    'dance',
    '',
    'close cabinet 1',
    'take mug from countertop 1',
    `go to ${'desk '.repeat(50_000)}1`,
    `take ${'a'.repeat(100_000)}`,
  ])('after %.40j is that nothing happens', (command) => {
    expect(heard(words, spec, ['go to fridge 1', command])[1]).toBe('\nNothing happens.\n');
  });

  it('needs no wording by the simulator, and ends with the win or the last turn', () => {
    const rules = words.turns!;
    const won = words.referenceAnswer(spec).split('\n');
    expect(rules.wordingPrompt(spec, won.slice(0, -1))).toBeNull();
    expect(rules.wordingPrompt(spec, won)).toBeUndefined();
    const looks = Array.from({ length: settings.turns }, () => 'look');
    expect(rules.wordingPrompt(spec, looks.slice(1))).toBeNull();
    expect(rules.wordingPrompt(spec, looks)).toBeUndefined();
  });

  it('counts as badly formed if it was no command, or came after the end', () => {
    const won = words.referenceAnswer(spec);
    expect(words.score(spec, `dance\n${won}`)).toEqual({ reward: 1, wellFormed: false });
    expect(words.score(spec, `${won}\nlook`)).toEqual({ reward: 1, wellFormed: false });
    expect(words.score(spec, 'look\n'.repeat(200_000)).reward).toBe(0);
    expect(words.score(spec, `${'look\n'.repeat(settings.turns)}${won}`)).toEqual({
      reward: 0,
      wellFormed: false,
    });
  });

  it('is framed for a chat model', () => {
    const chat = createWorld({ ...settings, format: 'chatml' });
    expect(heard(chat, spec, ['go to desk 1'])).toEqual([
      '\n<|im_start|>user\nYou arrive at desk 1. On the desk 1, you see a desklamp 1.<|im_end|>\n<|im_start|>assistant\n',
    ]);
  });
});

describe('the grammar for servers with structured outputs', () => {
  const ebnf = readEbnf(words.taskGrammar!);

  it('has every task, and texts that are tasks but for what it cannot say', () => {
    for (const spec of words.baseTasks(randomStream(4))) expect(ebnf.accepts(spec), spec).toBe(true);
    const random = randomStream(5);
    const reasons = new Set<string>();
    for (let draw = 0; draw < 2000; draw++) {
      const parsed = words.parseTask(ebnf.draw(random));
      if (!parsed.valid) reasons.add(parsed.reason);
    }
    for (const reason of ['unparsable', 'empty', 'bad_goal', 'bad_room', 'too_many_receptacles'])
      expect(reasons).not.toContain(reason);
    for (const text of ['pm>T', 'lb>K|Hb', 'pm>T|Cmmmm', 'pm>T|Cm,']) expect(ebnf.accepts(text)).toBe(false);
  });
});

describe('the agent’s corpus', () => {
  it('has rollouts that end with the win where no command is random', () => {
    const exact = createWorld({
      ...settings,
      form: 'codes',
      warmUp: { ...settings.warmUp, actionAccuracy: 1 },
    });
    const lengths = new Set<number>();
    for (const { completion, more = [] } of exact.warmUpCorpus('agent', 200, randomStream(2))) {
      const actions = [completion, ...more.map(({ write }) => write)];
      expect(actions.every((action) => action.length === 3)).toBe(true);
      lengths.add(actions.length);
    }
    expect(Math.min(...lengths)).toBeLessThan(6);
    expect(Math.max(...lengths)).toBeGreaterThan(10);
  });

  it('has variations that are other tasks than their seeds, most of them much alike', () => {
    const rows = [...codes.warmUpCorpus('environment', 300, randomStream(2))];
    const seedOf = (prompt: string) => prompt.slice(prompt.indexOf('|') + 1, -1);
    const changed = rows.filter(({ prompt, completion }) => seedOf(prompt) !== completion);
    expect(changed.length).toBeGreaterThan(250);
    const sameGoal = changed.filter(({ prompt, completion }) =>
      seedOf(prompt).startsWith(completion.slice(0, 5)),
    );
    expect(sameGoal.length).toBeGreaterThan(120);
  });
});

it('a plan is no longer than the turns, and sees no more than the agent', () => {
  const parsed = parseHouse('pm>K|C,D,Hm,K', settings);
  if ('reason' in parsed) throw new Error(parsed.reason);
  expect(referenceActions(parsed.task, settings)).toHaveLength(8);
  const short = createWorld({ ...settings, turns: 7, baseSteps: [4, 7] });
  expect(short.parseTask('pm>K|C,D,Hm,K')).toEqual({ valid: false, reason: 'too_many_actions' });
});

describe('the experiment file', () => {
  const refused = (fields: Record<string, unknown>) => () =>
    parseExperiment(withFields(experimentFile('alfworld'), fields));

  it('is one for models from scratch, which take codes', () => {
    expect(parseExperiment(experimentFile('alfworld')).world).toMatchObject({
      type: 'alfworld',
      form: 'codes',
    });
    expect(refused({ 'world.form': 'words' })).toThrow(
      'agent.model.type: got "scratch"; the world "alfworld" is in natural language',
    );
    expect(refused({ 'world.turns': 30 })).toThrow(/agent\.sampling\.maxTokens: got 4; expected at most/);
    expect(refused({ 'world.baseSteps': [5, 20] })).toThrow(
      'world.baseSteps: got [5, 20]; expected at most turns (14)',
    );
  });
});
