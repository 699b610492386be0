import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import type { AgentHistory } from '../../src/coevolution/agent-history.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { createToolCodes, toolboxAlphabet } from '../../src/worlds/toolbox/call.ts';
import { toolboxSettings, toolboxTexts } from '../../src/worlds/toolbox/settings.ts';
import type { ToolboxSettings } from '../../src/worlds/toolbox/settings.ts';
import type { World } from '../../src/worlds/world.ts';

const settings: ToolboxSettings = {
  ...toolboxSettings.parse({ type: 'toolbox' }),
  tools: 3,
  symbols: 5,
  maxLength: 8,
  baseLengths: [3, 5],
  heldOutLengths: [1, 4],
};
const worldOf = (changes: Partial<ToolboxSettings> = {}): World => createWorld({ ...settings, ...changes });
const world = worldOf();
const names = toolboxAlphabet(settings);

const aSpec = fc
  .tuple(
    fc.constantFrom(...names.tools),
    fc.array(fc.constantFrom(...names.symbols), { minLength: 1, maxLength: settings.maxLength }),
  )
  .map(([tool, argument]) => `${tool}:${argument.join('')}`);
const aHistory: fc.Arbitrary<AgentHistory> = fc
  .record({
    success: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    difficulty: fc.option(fc.double({ min: 1, max: 8, noNaN: true })),
    failed: fc.array(
      fc.record({ kind: fc.constantFrom(...names.tools), difficulty: fc.integer({ min: 1, max: 8 }) }),
      { maxLength: 4 },
    ),
    counts: fc.dictionary(
      fc.constantFrom(...names.tools),
      fc.nat(8).map((successes) => ({ successes, attempts: 8 })),
    ),
  })
  .map(({ success, difficulty, failed, counts }) => ({
    ...emptyHistory(),
    success,
    difficulty,
    recentFailures: failed,
    byKind: counts,
  }));

describe('the tools', () => {
  it('are permutations of the symbols, another for each tool and each seed', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 2, max: 9 }),
        fc.integer({ min: 1, max: 12 }),
        (seed, symbols, tools) => {
          for (const map of createToolCodes(
            toolboxAlphabet({ tools, symbols, maxLength: 8 }),
            seed,
          ).values()) {
            expect([...map.keys()]).toEqual('abcdefghi'.slice(0, symbols).split(''));
            expect([...map.values()].toSorted()).toEqual([...map.keys()]);
          }
        },
      ),
      { numRuns: 50 },
    );
    const codes = Array.from({ length: 4 }, (_, seed) =>
      [...createToolCodes(toolboxAlphabet({ tools: 4, symbols: 9, maxLength: 8 }), seed).values()].map(
        (map) => [...map.values()].join(''),
      ),
    ).flat();
    expect(new Set(codes).size).toBe(16);
  });

  it('are these, at seed 0: what changes them changes every experiment', () => {
    const codes = Array.from(
      createToolCodes(toolboxAlphabet({ tools: 4, symbols: 9, maxLength: 8 }), 0),
      ([tool, map]) => `${tool} ${[...map.values()].join('')}`,
    );
    expect(codes).toEqual(['T cbhaifdeg', 'U hgdafebci', 'V cbadgfihe', 'W eacgdihfb']);
    const laptop = createWorld({ ...settings, tools: 4, symbols: 9 });
    expect([
      laptop.referenceAnswer('T:abcdefghi'),
      laptop.referenceAnswer('T:cafe'),
      laptop.referenceAnswer('W:iii'),
    ]).toEqual(['T(cbhaifdeg)', 'T(hcfi)', 'W(bbb)']);
  });
});

describe('an answer', () => {
  it('is right where every symbol is in the tool’s own code, in order', () => {
    const code = createToolCodes(names, settings.seed).get('U');
    expect(world.referenceAnswer('U:cab')).toBe(
      `U(${code?.get('c') ?? ''}${code?.get('a') ?? ''}${code?.get('b') ?? ''})`,
    );
  });

  it('scores 1 if it is the reference, else 0, and the same every time', () => {
    fc.assert(
      fc.property(
        aSpec,
        fc.oneof(
          aSpec.map((spec) => world.referenceAnswer(spec)),
          fc.string(),
        ),
        (spec, answer) => {
          expect(world.score(spec, world.referenceAnswer(spec))).toEqual({ reward: 1, wellFormed: true });
          expect(world.score(spec, answer).reward).toBe(answer === world.referenceAnswer(spec) ? 1 : 0);
          expect(world.score(spec, answer)).toEqual(world.score(spec, answer));
        },
      ),
    );
  });

  const spec = 'T:abc';
  const right = world.referenceAnswer(spec);
  const inside = right.slice(2, -1);
  const otherTool = worldOf().referenceAnswer('U:abc');
  const wrong: [string, string, boolean][] = [
    ['nothing', '', false],
    ['the prompt', world.agentPrompt(spec), false],
    ['the request', spec, false],
    ['text before', `The answer is ${right}`, false],
    ['text after', `${right}.`, false],
    ['a space before', ` ${right}`, false],
    ['a line break after', `${right}\n`, false],
    ['a lower-case tool', right.toLowerCase(), false],
    ['upper-case symbols', `T(${inside.toUpperCase()})`, false],
    ['no tool', `(${inside})`, false],
    ['no brackets', `T${inside}`, false],
    ['an open bracket', `T(${inside}`, false],
    ['the call twice', right + right, false],
    ['two calls', `${right};${right}`, false],
    ['another tool’s call', otherTool, true],
    ['another tool’s code', `T${otherTool.slice(1)}`, true],
    ['the argument as it was', 'T(abc)', true],
    ['a symbol too few', `T(${inside.slice(1)})`, true],
    ['a symbol too many', `T(${inside}a)`, true],
    ['no argument', 'T()', true],
    ['reversed', `T(${inside.split('').reverse().join('')})`, true],
    ['full-width letters', right.replace('T', 'Ｔ'), false],
    ['a Cyrillic look-alike', right.replace('T', 'Т'), false],
    ['full-width brackets', `T（${inside}）`, false],
    ['a zero-width space', `T(${inside}\u200b)`, false],
    ['a combining mark', `T(${inside}\u0301)`, false],
    ['JSON', JSON.stringify({ tool: 'T', args: { s: inside } }), false],
    ['a very long one', `T(${'a'.repeat(100_000)})`, true],
  ];
  it.each(wrong)('of %s scores 0', (_, answer, wellFormed) => {
    expect(world.score(spec, answer)).toEqual({ reward: 0, wellFormed });
  });

  it('drawn blindly is well formed and hardly ever right', () => {
    const random = randomStream(1);
    const verdicts = Array.from({ length: 20_000 }, () =>
      world.score(spec, world.randomAnswer(spec, random)),
    );
    expect(verdicts.every(({ wellFormed }) => wellFormed)).toBe(true);
    // (1/5)^3 = 0.008, standard deviation 0.0006.
    const share = verdicts.filter(({ reward }) => reward === 1).length / verdicts.length;
    expect(share).toBeGreaterThan(0.005);
    expect(share).toBeLessThan(0.011);
  });
});

describe('what the simulator writes', () => {
  it.each([
    ['T:a', 'T:a'],
    ['V:edcba', 'V:edcba'],
    ['U:aaaaaaaa', 'U:aaaaaaaa'],
  ])('%s is a task', (text, spec) => {
    expect(world.parseTask(text)).toEqual({ valid: true, spec });
  });

  it.each([
    ['', 'empty'],
    ['T:aaaaaaaaa', 'too_long'],
    ['T'.repeat(500), 'too_long'],
    ['T', 'unparsable'],
    ['hello', 'unparsable'],
    ['Ta:b', 'unparsable'],
    [' T:ab', 'unparsable'],
    ['T(abc)', 'unparsable'],
    ['T：ab', 'unparsable'],
    ['W:ab', 'unknown_tool'],
    ['t:ab', 'unknown_tool'],
    [':ab', 'unparsable'],
    ['::ab', 'unknown_tool'],
    ['T:', 'no_argument'],
    ['T:abf', 'unknown_symbol'],
    ['T:aB', 'unknown_symbol'],
    ['T:ab ', 'unknown_symbol'],
    ['T:ab\n', 'unknown_symbol'],
    ['T:a_b', 'unknown_symbol'],
    ['T:ａｂ', 'unknown_symbol'],
    ['T:T:ab', 'unknown_symbol'],
    ['T:\ud83d', 'unknown_symbol'],
  ])('%j is no task: %s', (text, reason) => {
    expect(world.parseTask(text)).toEqual({ valid: false, reason });
  });

  it('never makes the parser throw, and what it takes is canonical', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), aSpec), (text) => {
        const parsed = world.parseTask(text);
        expect(parsed).toEqual(
          parsed.valid
            ? { valid: true, spec: text }
            : { valid: false, reason: expect.stringMatching(/^[a-z_]+$/) as string },
        );
      }),
    );
  });

  it('has kind, difficulty and latents by code', () => {
    expect([world.kind('U:abca'), world.difficulty('U:abca'), world.latents('U:abca')]).toEqual([
      'U',
      4,
      { tool: 'U', length: 4 },
    ]);
  });
});

describe('prompts', () => {
  const chars = new Set(world.vocabulary);
  const isInVocabulary = (text: string) => text.split('').every((char) => chars.has(char));

  it('have one length for the agent, and tell different tasks apart', () => {
    expect(world.agentPrompt('T:abc')).toBe('T:abc_____=');
    fc.assert(
      fc.property(aSpec, aSpec, (left, right) => {
        expect(world.agentPrompt(left)).toHaveLength(settings.maxLength + 3);
        expect(world.agentPrompt(left) === world.agentPrompt(right)).toBe(left === right);
      }),
    );
  });

  it('have characters of the vocabulary only, as answers and tasks do', () => {
    expect(new Set(world.vocabulary).size).toBe(world.vocabulary.length);
    fc.assert(
      fc.property(aSpec, aHistory, fc.nat(), (spec, history, seed) => {
        for (const text of [
          spec,
          world.agentPrompt(spec),
          world.referenceAnswer(spec),
          world.randomAnswer(spec, randomStream(seed)),
          world.environmentPrompt(history, spec),
        ])
          expect(isInVocabulary(text)).toBe(true);
      }),
    );
    for (const policy of ['agent', 'environment'] as const)
      for (const { prompt, completion } of world.warmUpCorpus(policy, 300, randomStream(3)))
        expect(isInVocabulary(prompt + completion)).toBe(true);
  });

  it('have the simulator’s one length but for the task they vary, within what an experiment file is checked with', () => {
    fc.assert(
      fc.property(aSpec, aHistory, (spec, history) => {
        expect(world.environmentPrompt(history, spec)).toHaveLength(2 * settings.tools + 12 + spec.length);
        expect(2 * settings.tools + 12 + spec.length).toBeLessThanOrEqual(
          toolboxTexts(settings).environment.prompt,
        );
      }),
    );
    const widest = createWorld({ ...settings, tools: 12, symbols: 9, maxLength: 35 });
    expect(widest.environmentPrompt(emptyHistory(), `T:${'a'.repeat(35)}`)).toHaveLength(35 + 24 + 14);
  });

  it('tell the simulator what the agent did', () => {
    const history: AgentHistory = {
      ...emptyHistory(),
      success: 0.47,
      difficulty: 6.6,
      byKind: { T: { successes: 8, attempts: 8 }, U: { successes: 1, attempts: 8 } },
      recentFailures: [{ kind: 'U', difficulty: 8 }],
    };
    expect(world.environmentPrompt(history, 'V:ab')).toBe('H4L7T9U1V_FU8F__|V:ab=');
    expect(world.environmentPrompt(emptyHistory(), 'V:ab')).toBe('H_L_T_U_V_F__F__|V:ab=');
  });
});

describe('base and held-out tasks', () => {
  it('are as many and as long as the settings say, and follow from the stream', () => {
    const base = world.baseTasks(randomStream(5));
    expect(base).toHaveLength(settings.baseTasks);
    for (const spec of base)
      expect(world.parseTask(spec).valid && world.difficulty(spec) >= 3 && world.difficulty(spec) <= 5).toBe(
        true,
      );
    expect(world.baseTasks(randomStream(5))).toEqual(base);
    expect(world.baseTasks(randomStream(6))).not.toEqual(base);
  });

  it('are a full grid of tools and lengths for the held-out ones', () => {
    const cells = new Map<string, number>();
    for (const spec of world.heldOutTasks(randomStream(5))) {
      expect(world.parseTask(spec).valid).toBe(true);
      const cell = `${world.kind(spec)}${world.difficulty(spec)}`;
      cells.set(cell, (cells.get(cell) ?? 0) + 1);
    }
    expect([...cells.keys()].toSorted()).toEqual(
      names.tools.flatMap((tool) => [1, 2, 3, 4].map((length) => `${tool}${length}`)).toSorted(),
    );
    expect(new Set(cells.values())).toEqual(new Set([settings.heldOutPerCell]));
  });
});

describe('the warm-up corpus', () => {
  const rows = 4_000;

  it('of the agent has labels that are right with the stated chance, for calls of every length', () => {
    const corpus = [...world.warmUpCorpus('agent', rows, randomStream(1))];
    expect(corpus).toHaveLength(rows);
    let [right, labels] = [0, 0];
    const lengths = new Map<number, number>();
    for (const { prompt, completion } of corpus) {
      const spec = prompt.replace(/_*=$/, '');
      const reference = world.referenceAnswer(spec);
      expect(completion).toMatch(/^[TUV]\([a-e]+\)$/);
      expect([completion[0], completion.length]).toEqual([reference[0], reference.length]);
      for (let index = 2; index < reference.length - 1; index++) {
        labels += 1;
        right += completion[index] === reference[index] ? 1 : 0;
      }
      lengths.set(world.difficulty(spec), (lengths.get(world.difficulty(spec)) ?? 0) + 1);
    }
    // About 18,000 labels: standard deviation 0.0035.
    expect(right / labels).toBeGreaterThan(settings.warmUp.symbolAccuracy - 0.015);
    expect(right / labels).toBeLessThan(settings.warmUp.symbolAccuracy + 0.015);
    expect([...lengths.keys()].toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    for (const count of lengths.values()) expect(Math.abs(count - rows / 8)).toBeLessThan(100);
  });

  it('is all right, or all wrong, at the ends of the chance', () => {
    for (const [symbolAccuracy, matches] of [
      [1, true],
      [0, false],
    ] as const) {
      const exact = worldOf({ warmUp: { ...settings.warmUp, symbolAccuracy } });
      for (const { prompt, completion } of exact.warmUpCorpus('agent', 200, randomStream(2)))
        expect(completion === exact.referenceAnswer(prompt.replace(/_*=$/, ''))).toBe(matches);
    }
  });

  it('of the simulator varies the seed task, whatever the history says', () => {
    const byDigit = new Map<string, { sum: number; count: number }>();
    let [kept, compared, away] = [0, 0, 0];
    for (const { prompt, completion } of world.warmUpCorpus('environment', rows, randomStream(1))) {
      expect(world.parseTask(completion).valid).toBe(true);
      const [history = '', seed = ''] = prompt.slice(0, -1).split('|');
      const difference = world.difficulty(completion) - world.difficulty(seed);
      expect(difference).toBeLessThanOrEqual(1);
      if (difference < -1) away += 1;
      for (let index = 2; index < Math.min(seed.length, completion.length); index++) {
        compared += 1;
        kept += seed[index] === completion[index] ? 1 : 0;
      }
      const digit = history.charAt(1);
      const { sum, count } = byDigit.get(digit) ?? { sum: 0, count: 0 };
      byDigit.set(digit, { sum: sum + difference, count: count + 1 });
    }
    // Kept with chance 0.7, or drawn again by chance: 0.7 + 0.3 / 5.
    expect(Math.abs(kept / compared - 0.76)).toBeLessThan(0.02);
    // The easy tail: 15 %, of which those within one of the seed's length do not show.
    expect(away / rows).toBeGreaterThan(0.03);
    expect(away / rows).toBeLessThan(0.15);
    const means = [...byDigit.values()]
      .filter(({ count }) => count > 50)
      .map(({ sum, count }) => sum / count);
    expect(means.length).toBeGreaterThanOrEqual(10);
    // Independent of the history: the spread of 400 differences' means is about 0.06.
    expect(Math.max(...means) - Math.min(...means)).toBeLessThan(0.45);
  });

  it('follows from the stream', () => {
    for (const policy of ['agent', 'environment'] as const) {
      const draw = (seed: number) => [...world.warmUpCorpus(policy, 20, randomStream(seed))];
      expect(draw(1)).toEqual(draw(1));
      expect(draw(1)).not.toEqual(draw(2));
    }
  });
});

describe('for people', () => {
  it('a task and an answer are structured data', () => {
    expect(world.renderTask('T:abc')).toEqual({
      request: 'Call T for "abc".',
      evaluation: { kind: 'exact_call', tool: 'T', argument: 'abc' },
    });
    expect(world.renderAnswer('T(dbg)')).toEqual({ tool: 'T', args: { s: 'dbg' } });
    expect(world.renderAnswer('T(dbg) or so')).toEqual({ unparsable: 'T(dbg) or so' });
  });
});

describe('nested calls with several arguments', () => {
  const wide: ToolboxSettings = { ...settings, tools: 12, maxDepth: 3, maxArguments: 3, maxLength: 12 };
  const nested = createWorld(wide);
  const maps = createToolCodes(toolboxAlphabet(wide), wide.seed);

  it('are answered from the inside out, argument by argument', () => {
    const through = (letters: string, symbol: string) =>
      [...letters].reverse().reduce((code, letter) => maps.get(letter)?.get(code) ?? '', symbol);
    expect(nested.referenceAnswer('TU:ab,c')).toBe(
      `T(U(${through('TU', 'a')}${through('TU', 'b')},${through('TU', 'c')}))`,
    );
    expect(nested.referenceAnswer('TU:a')).not.toBe(nested.referenceAnswer('UT:a').replace('U(T', 'T(U'));
    expect(nested.score('TU:ab,c', nested.referenceAnswer('TU:ab,c'))).toEqual({
      reward: 1,
      wellFormed: true,
    });
    expect(nested.difficulty('TUV:ab,c')).toBe(9);
    expect(nested.latents('TUV:ab,c')).toEqual({ tool: 'T', length: 4, depth: 3, arguments: 2 });
  });

  it.each([
    ['T(abc)', true],
    ['T(U(ab,c))', true],
    ['T(U(V(a,b,c)))', true],
    ['T(U(V(W(a))))', false],
    ['T(U(ab,c)', false],
    ['T(U(ab,c)))', false],
    ['T(a,b,c,d)', false],
    ['T(U(ab),c)', false],
    ['TU(ab)', false],
  ])('%s is well formed: %s', (answer, wellFormed) => {
    expect(nested.score('TU:ab,c', answer)).toEqual({ reward: 0, wellFormed });
  });

  it.each([
    ['TUVW:a', 'unparsable'],
    ['TUVT:a', 'unparsable'],
    ['TÜ:a', 'unknown_tool'],
    ['TU:', 'no_argument'],
    ['TU:a,', 'no_argument'],
    ['TU:a,,b', 'no_argument'],
    ['TU:,a', 'no_argument'],
    ['TU:a,b,c,d', 'too_many_arguments'],
    ['T:aaaaaaaaaaaaa', 'too_long'],
    ['TUV:aaaaaaaaaaaaa', 'too_long'],
    ['TU:a;b', 'unknown_symbol'],
  ])('%s is no task: %s', (text, reason) => {
    expect(nested.parseTask(text)).toEqual({ valid: false, reason });
  });

  it('are in the base tasks, the held-out grid and the corpora, all of them tasks, within the stated lengths', () => {
    const limits = toolboxTexts(wide);
    const specs = [...nested.baseTasks(randomStream(1)), ...nested.heldOutTasks(randomStream(1))];
    expect(new Set(specs.map((spec) => nested.latents(spec).depth))).toEqual(new Set([1, 2, 3]));
    expect(new Set(specs.map((spec) => nested.latents(spec).arguments))).toEqual(new Set([1, 2, 3]));
    const cells = new Set(
      nested
        .heldOutTasks(randomStream(2))
        .map((spec) => `${nested.kind(spec)}${nested.latents(spec).length}/${nested.latents(spec).depth}`),
    );
    expect(cells.size).toBe(12 * 4 * 3);
    for (const spec of specs) {
      expect(nested.parseTask(spec)).toEqual({ valid: true, spec });
      expect(nested.agentPrompt(spec)).toHaveLength(limits.agent.prompt);
      expect(nested.referenceAnswer(spec).length + 1).toBeLessThanOrEqual(limits.agent.answer);
      expect(spec.length + 1).toBeLessThanOrEqual(limits.environment.answer);
      expect(nested.environmentPrompt(emptyHistory(), spec).length).toBeLessThanOrEqual(
        limits.environment.prompt,
      );
    }
    const characters = new Set(nested.vocabulary);
    for (const { prompt, completion } of nested.warmUpCorpus('environment', 500, randomStream(3))) {
      expect(nested.parseTask(completion)).toEqual({ valid: true, spec: completion });
      for (const character of prompt + completion) expect(characters.has(character), character).toBe(true);
    }
    for (const { completion } of nested.warmUpCorpus('agent', 500, randomStream(3)))
      expect(nested.score('T:a', completion).wellFormed).toBe(true);
  });

  it('are shown to people as calls inside calls', () => {
    expect(nested.renderAnswer('T(U(ab,c))')).toEqual({
      tool: 'T',
      args: { call: { tool: 'U', args: { s: ['ab', 'c'] } } },
    });
    expect(nested.renderTask('TU:ab,c')).toEqual({
      request: 'Call T on the result of U for "ab", "c".',
      evaluation: { kind: 'exact_call', tools: ['T', 'U'], arguments: ['ab', 'c'] },
    });
  });

  it('change nothing for a world that does not ask for them', () => {
    const said = (tested: World) => [
      tested.vocabulary,
      tested.baseTasks(randomStream(4)),
      tested.heldOutTasks(randomStream(4)),
      [...tested.warmUpCorpus('agent', 50, randomStream(4))],
      [...tested.warmUpCorpus('environment', 50, randomStream(4))],
    ];
    expect(said(worldOf({ maxDepth: 1, maxArguments: 1, coinFlipTools: 0 }))).toEqual(said(world));
    // As they were before there were such calls.
    const digest = createHash('sha256')
      .update(JSON.stringify(said(world)))
      .digest('hex');
    expect(digest.slice(0, 16)).toBe('db47c7be3f7a1b0f');
  });
});

describe('a coin-flip tool', () => {
  const trap = worldOf({ coinFlipTools: 1 });

  it('rewards half of all answers, right or wrong, by the rollout’s chance and nothing else', () => {
    for (const answer of [trap.referenceAnswer('V:ab'), 'V(aa)', 'nonsense']) {
      const rewards = Array.from(
        { length: 4_000 },
        (_, seed) => trap.score('V:ab', answer, randomStream(seed)).reward,
      );
      // Standard deviation 0.008.
      expect(Math.abs(rewards.filter((reward) => reward === 1).length / 4_000 - 0.5)).toBeLessThan(0.04);
      expect(
        Array.from({ length: 50 }, (_, seed) => trap.score('V:ab', answer, randomStream(seed)).reward),
      ).toEqual(rewards.slice(0, 50));
    }
    expect(() => trap.score('V:ab', 'V(aa)')).toThrow('V:ab asks a coin-flip tool');
  });

  it('is one of the tools that tasks may ask, and none that is held out; the others are honest', () => {
    expect(trap.parseTask('V:ab').valid).toBe(true);
    expect(new Set(trap.baseTasks(randomStream(1)).map((spec) => trap.kind(spec)))).toContain('V');
    expect(new Set(trap.heldOutTasks(randomStream(1)).map((spec) => trap.kind(spec)))).toEqual(
      new Set(['T', 'U']),
    );
    for (let seed = 0; seed < 20; seed++)
      expect(trap.score('T:ab', 'T(aa)', randomStream(seed)).reward).toBe(trap.score('T:ab', 'T(aa)').reward);
  });

  it('spoils every call that it is part of', () => {
    const nested = worldOf({ coinFlipTools: 1, maxDepth: 2 });
    const rewards = new Set(
      Array.from(
        { length: 30 },
        (_, seed) => nested.score('TV:a', nested.referenceAnswer('TV:a'), randomStream(seed)).reward,
      ),
    );
    expect(rewards).toEqual(new Set([0, 1]));
  });
});
