import { describe, expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { randomStream } from '../../src/numerics/random.ts';
import { chainOpsSettings } from '../../src/worlds/chainops/settings.ts';
import type { ChainOpsSettings } from '../../src/worlds/chainops/settings.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { experimentFile, withFields } from '../../test-support/experiments.ts';

const settings: ChainOpsSettings = {
  ...chainOpsSettings.parse({ type: 'chainops' }),
  operations: 4,
  symbols: 5,
  maxDepth: 3,
  maxLength: 5,
  baseLengths: [3, 5],
};
const world = createWorld(settings);

describe('the steps of a chain', () => {
  it.each([
    ['R:abc', 'cba'],
    ['T:abc', 'bca'],
    ['U:ade', 'bea'],
    ['X:abc', 'cba'],
    ['X:ab', 'ba'],
    ['RT:abcd', 'dcba>cbad'],
    ['TUX:abcd', 'bcda>cdeb>bdec'],
  ])('of %s are %s', (spec, answer) => {
    expect(world.referenceAnswer(spec)).toBe(answer);
    expect(world.score(spec, answer)).toEqual({ reward: 1, wellFormed: true });
  });
});

describe('an answer to TU:abc, bca>cdb,', () => {
  it.each([
    ['bca>cdb', 1, true],
    // Scratch paper may be wrong; the result decides.
    ['aaa>cdb', 1, true],
    ['bca>cdc', 0, true],
    ['bca>bca', 0, true],
    ['cdb', 0, false],
    ['bca>cdb>cdb', 0, false],
    ['bca>cdb>', 0, false],
    ['>cdb', 0, false],
    ['ab>cdb', 0, false],
    ['zzz>cdb', 0, false],
    ['bca>cdb ', 0, false],
    ['', 0, false],
  ])('%j earns %d', (answer, reward, wellFormed) => {
    expect(world.score('TU:abc', answer)).toEqual({ reward, wellFormed });
  });

  it('drawn blindly is well formed and seldom right', () => {
    const random = randomStream(1);
    for (const [spec, chance] of [
      ['RT:abcd', 1 / 24],
      ['TU:abcd', 1 / 625],
    ] as const) {
      const verdicts = Array.from({ length: 6_000 }, () =>
        world.score(spec, world.randomAnswer(spec, random)),
      );
      expect(verdicts.every(({ wellFormed }) => wellFormed)).toBe(true);
      // Standard deviation at most 0.0026.
      expect(Math.abs(verdicts.filter(({ reward }) => reward === 1).length / 6_000 - chance)).toBeLessThan(
        0.012,
      );
    }
  });
});

it.each([
  ['', 'empty'],
  ['abc', 'unparsable'],
  [':abc', 'no_operation'],
  ['RTUX:abc', 'too_long'],
  ['R:abcdea', 'too_long'],
  ['Q:abc', 'unknown_operation'],
  ['R:a', 'too_short'],
  ['R:', 'too_short'],
  ['R:abf', 'unknown_symbol'],
  ['R:ab:', 'unknown_symbol'],
])('%j is no task: %s', (text, reason) => {
  expect(world.parseTask(text)).toEqual({ valid: false, reason });
});

it('knows only the operations that it is set to', () => {
  expect(createWorld({ ...settings, operations: 2 }).parseTask('U:abc')).toEqual({
    valid: false,
    reason: 'unknown_operation',
  });
});

it('has difficulty and response length that grow with depth and length alone', () => {
  expect([world.kind('TU:abc'), world.difficulty('TU:abc'), world.latents('TU:abc')]).toEqual([
    'T',
    6,
    { depth: 2, length: 3, operations: 'TU' },
  ]);
  const lengths = [1, 2, 3].map((depth) => world.referenceAnswer(`${'R'.repeat(depth)}:abcd`).length);
  expect(lengths).toEqual([4, 9, 14]);
});

it('holds out a grid of every depth and length', () => {
  const cells = new Map<string, number>();
  for (const spec of world.heldOutTasks(randomStream(5))) {
    const { depth, length } = world.latents(spec);
    cells.set(`${depth}x${length}`, (cells.get(`${depth}x${length}`) ?? 0) + 1);
  }
  expect(cells.size).toBe(3 * 4);
  expect(new Set(cells.values())).toEqual(new Set([settings.heldOutPerCell]));
});

it('warms the agent up with slips of the stated chance, carried on', () => {
  const exact = createWorld({ ...settings, warmUp: { ...settings.warmUp, symbolAccuracy: 1 } });
  for (const { prompt, completion } of exact.warmUpCorpus('agent', 200, randomStream(1)))
    expect(completion).toBe(exact.referenceAnswer(prompt.replaceAll('_', '').slice(0, -1)));
  let [right, all] = [0, 0];
  for (const { prompt, completion } of world.warmUpCorpus('agent', 3_000, randomStream(1))) {
    const spec = prompt.replaceAll('_', '').slice(0, -1);
    const first = world.referenceAnswer(spec).split('>')[0]!;
    for (const [index, symbol] of [...completion.split('>')[0]!].entries()) {
      all += 1;
      right += symbol === first[index] ? 1 : 0;
    }
  }
  // About 10,000 symbols: standard deviation 0.003.
  expect(Math.abs(right / all - settings.warmUp.symbolAccuracy)).toBeLessThan(0.015);
});

it('tells the simulator what the agent did', () => {
  expect(
    world.environmentPrompt(
      { ...emptyHistory(), success: 0.5, difficulty: 6.4, byKind: { R: { successes: 1, attempts: 4 } } },
      'RT:abc',
    ),
  ).toBe('H5L6R2T_U_X_F__F__|RT:abc=');
});

describe('the experiment file', () => {
  it('for a night is one', () => {
    expect(parseExperiment(experimentFile('chainops-nightly')).world.type).toBe('chainops');
  });

  it('is refused where its fields cannot go together', () => {
    const wrong = withFields(experimentFile('chainops-nightly'), {
      'world.baseDepths': [2, 5],
      'world.maxDepth': 3,
      'world.baseLengths': [4, 3],
      'agent.sampling.maxTokens': 5,
    });
    expect(() => parseExperiment(wrong)).toThrow(
      /world\.baseDepths: got \[2, 5\]; expected at most maxDepth \(3\)\n.*world\.baseLengths: got \[4, 3\]; expected the shorter length first\n.*agent\.sampling\.maxTokens: got 5; the longest chain needs 21/,
    );
  });
});
