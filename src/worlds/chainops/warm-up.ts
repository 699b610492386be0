import type { RandomStream } from '../../numerics/random.ts';
import { historyPrompt, randomHistory } from '../history-digits.ts';
import type { CorpusRow } from '../world.ts';
import { chainAnswer, chainPrompt, chainSpec, computeSteps } from './chain.ts';
import type { Chain, ChainAlphabet } from './chain.ts';

/**
 * Supervised corpora for two from-scratch models. The agent sees chains whose steps slip now and then, each
 * symbol with its own chance, and continue from the slip: the form of reasoning, and a smooth spectrum of
 * success over depth and length. The simulator learns to vary a seed task whatever the history says.
 */
export interface ChainWarmUp {
  symbolAccuracy: number;
  easyTail: number;
  baseDepths: readonly [number, number];
  baseLengths: readonly [number, number];
}

type Range = readonly [number, number];
const within = (random: RandomStream, [from, to]: Range): number => from + random.int(to - from + 1);
const draw = (random: RandomStream, length: number, from: readonly string[]): string =>
  Array.from({ length }, () => random.pick(from)).join('');

/** A random chain of `depths` operations on a text of `lengths` symbols. */
export const randomChain = (
  random: RandomStream,
  { operations, symbols }: ChainAlphabet,
  depths: Range,
  lengths: Range,
): Chain => ({
  operations: draw(random, within(random, depths), operations),
  text: draw(random, within(random, lengths), symbols),
});

export function* chainAgentCorpus(
  alphabet: ChainAlphabet,
  { symbolAccuracy }: ChainWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const { symbols, maxDepth, maxLength } = alphabet;
  const slip = (step: string): string =>
    [...step]
      .map((symbol) =>
        random.next() < symbolAccuracy
          ? symbol
          : random.pick(symbols.filter((candidate) => candidate !== symbol)),
      )
      .join('');
  for (let row = 0; row < rows; row++) {
    const chain = randomChain(random, alphabet, [1, maxDepth], [2, maxLength]);
    yield {
      prompt: chainPrompt(chainSpec(chain), alphabet),
      completion: chainAnswer(computeSteps(chain, symbols, slip)),
    };
  }
}

export function* chainSimulatorCorpus(
  alphabet: ChainAlphabet,
  settings: ChainWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const { operations, maxDepth, maxLength } = alphabet;
  for (let row = 0; row < rows; row++) {
    const anywhere = random.next() < 0.3;
    const seed = randomChain(
      random,
      alphabet,
      anywhere ? [1, maxDepth] : settings.baseDepths,
      anywhere ? [2, maxLength] : settings.baseLengths,
    );
    yield {
      prompt: historyPrompt(
        randomHistory(operations, maxDepth * maxLength, random),
        chainSpec(seed),
        operations,
      ),
      completion: chainSpec(vary(seed, alphabet, settings, random)),
    };
  }
}

/** About the seed's depth and length (or, in the easy tail, any up to them), most of what it is made of. */
function vary(
  { operations, text }: Chain,
  alphabet: ChainAlphabet,
  { easyTail }: ChainWarmUp,
  random: RandomStream,
): Chain {
  const isEasy = random.next() < easyTail;
  const drawSize = (size: number, min: number, max: number): number =>
    isEasy ? within(random, [min, size]) : Math.max(min, Math.min(max, size + random.int(3) - 1));
  const varyText = (size: number, old: string, from: readonly string[]): string =>
    Array.from({ length: size }, (_, index) =>
      index < old.length && random.next() < 0.7 ? old.charAt(index) : random.pick(from),
    ).join('');
  const [depth, length] = [
    drawSize(operations.length, 1, alphabet.maxDepth),
    drawSize(text.length, 2, alphabet.maxLength),
  ];
  return {
    operations: varyText(depth, operations, alphabet.operations),
    text: varyText(length, text, alphabet.symbols),
  };
}
