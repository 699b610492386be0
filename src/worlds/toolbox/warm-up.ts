import type { RandomStream } from '../../coevolution/seeds.ts';
import type { CorpusRow } from '../world.ts';
import { specOf } from './call.ts';
import type { Alphabet, ToolCall } from './call.ts';
import { agentPrompt, environmentPrompt } from './prompts.ts';
import type { HistoryDigits } from './prompts.ts';
import { encode } from './tools.ts';
import type { Tools } from './tools.ts';

/**
 * Supervised corpora that give two from-scratch models a start. The agent learns the form of a call and each symbol's
 * code with label noise, so that its success at length L is about symbolAccuracy^L: a smooth spectrum by construction.
 * The simulator learns to vary a seed task; the history in its prompt is drawn independently of what it should write,
 * so any meaning the history has later was learnt from rewards.
 */
export interface WarmUpSettings {
  /** Chance that a symbol's label is right. */
  symbolAccuracy: number;
  /** Share of variations with any length up to the seed's: the easy tail. */
  easyTail: number;
  baseLengths: readonly [number, number];
}

/** A random request with an argument of `from` to `to` symbols. */
export function randomCall(random: RandomStream, { tools, symbols }: Alphabet, [from, to]: readonly [number, number]): ToolCall {
  const length = from + random.int(to - from + 1);
  return { tool: random.pick(tools), argument: Array.from({ length }, () => random.pick(symbols)).join('') };
}

export function* agentCorpus(tools: Tools, alphabet: Alphabet, settings: WarmUpSettings, rows: number, random: RandomStream): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const request = randomCall(random, alphabet, [1, alphabet.maxLength]);
    const right = encode(tools, request);
    const noisy = [...right.argument].map((symbol) =>
      random.next() < settings.symbolAccuracy ? symbol : random.pick(alphabet.symbols.filter((other) => other !== symbol)),
    );
    yield { prompt: agentPrompt(specOf(request), alphabet), completion: `${right.tool}(${noisy.join('')})` };
  }
}

export function* environmentCorpus(alphabet: Alphabet, settings: WarmUpSettings, rows: number, random: RandomStream): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const seed = randomCall(random, alphabet, random.next() < 0.3 ? [1, alphabet.maxLength] : settings.baseLengths);
    yield { prompt: environmentPrompt(randomHistory(alphabet, random), specOf(seed), alphabet), completion: specOf(vary(seed, alphabet, settings, random)) };
  }
}

function randomHistory({ tools, maxLength }: Alphabet, random: RandomStream): HistoryDigits {
  // Sometimes nothing is known yet, as in the first epoch.
  if (random.int(8) === 0) return { overall: null, length: null, byTool: tools.map(() => null), failures: [] };
  return {
    overall: random.int(10),
    length: 1 + random.int(maxLength),
    byTool: tools.map(() => (random.int(8) === 0 ? null : random.int(10))),
    failures: Array.from({ length: random.int(8) === 0 ? random.int(2) : 2 }, () => ({ tool: random.pick(tools), length: 1 + random.int(maxLength) })),
  };
}

/** About the seed's length (or, in the easy tail, any length up to it), most of its symbols, any tool. */
function vary({ argument }: ToolCall, { tools, symbols, maxLength }: Alphabet, { easyTail }: WarmUpSettings, random: RandomStream): ToolCall {
  const length = random.next() < easyTail ? 1 + random.int(argument.length) : Math.max(1, Math.min(maxLength, argument.length + random.int(3) - 1));
  const varied = Array.from({ length }, (_, index) => {
    const kept = argument[index];
    return kept !== undefined && random.next() < 0.7 ? kept : random.pick(symbols);
  });
  return { tool: random.pick(tools), argument: varied.join('') };
}
