import type { RandomStream } from '../../numerics/random.ts';
import { historyPrompt, randomHistory } from '../history-digits.ts';
import type { CorpusRow } from '../world.ts';
import { callAnswer, callSpec, eachSymbol, encode, toolboxPrompt } from './call.ts';
import type { ToolboxAlphabet, ToolboxCall, ToolCodes } from './call.ts';

/**
 * Supervised corpora that give two from-scratch models a start. The agent learns the form of a call and each
 * symbol's code with label noise, so that its success at length L is about symbolAccuracy^L: a smooth
 * spectrum by construction. The simulator learns to vary a seed task; the history in its prompt is drawn
 * independently of what it should write, so any meaning the history has later was learnt from rewards.
 */
export interface ToolboxWarmUp {
  /** Chance that a symbol's label is right. */
  symbolAccuracy: number;
  /** Share of variations with any length up to the seed's: the easy tail. */
  easyTail: number;
  baseLengths: readonly [number, number];
}

/** A random request with an argument of `from` to `to` characters, of the given depth or a random one. */
export function randomCall(
  random: RandomStream,
  world: ToolboxAlphabet,
  [from, to]: readonly [number, number],
  depth?: number,
): ToolboxCall {
  const length = from + random.int(to - from + 1);
  const tool = random.pick(world.tools);
  const argument = Array.from({ length }, () => random.pick(world.symbols)).join('');
  return { tools: tool + innerTools(random, world, depth), argument: withCommas(argument, random, world) };
}

// An unused option draws no random number, so worlds without it keep their tasks.
function innerTools(
  random: RandomStream,
  { tools, maxDepth }: ToolboxAlphabet,
  depth = maxDepth === 1 ? 1 : 1 + random.int(maxDepth),
): string {
  return Array.from({ length: depth - 1 }, () => random.pick(tools)).join('');
}

/** Some inner characters become commas, never two adjacent ones: 1 to `maxArguments` arguments. */
function withCommas(argument: string, random: RandomStream, { maxArguments }: ToolboxAlphabet): string {
  if (maxArguments === 1) return argument;
  const places = random.shuffle(
    Array.from({ length: Math.max(0, argument.length - 2) }, (_, index) => index + 1),
  );
  const commas = new Set<number>();
  const wanted = random.int(maxArguments);
  for (const place of places)
    if (commas.size < wanted && !commas.has(place - 1) && !commas.has(place + 1)) commas.add(place);
  return [...argument].map((symbol, index) => (commas.has(index) ? ',' : symbol)).join('');
}

export function* toolboxAgentCorpus(
  { alphabet, codes }: { alphabet: ToolboxAlphabet; codes: ToolCodes },
  { symbolAccuracy }: ToolboxWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const request = randomCall(random, alphabet, [1, alphabet.maxLength]);
    const encoded = encode(codes, request);
    const accuracy = symbolAccuracy ** encoded.tools.length;
    const noisy = eachSymbol(encoded.argument, (symbol) =>
      random.next() < accuracy
        ? symbol
        : random.pick(alphabet.symbols.filter((candidate) => candidate !== symbol)),
    );
    yield {
      prompt: toolboxPrompt(callSpec(request), alphabet),
      completion: callAnswer({ tools: encoded.tools, argument: noisy }),
    };
  }
}

export function* toolboxSimulatorCorpus(
  alphabet: ToolboxAlphabet,
  settings: ToolboxWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const { tools } = alphabet;
  const maxDifficulty = alphabet.maxLength * alphabet.maxDepth;
  for (let row = 0; row < rows; row++) {
    const seed = randomCall(
      random,
      alphabet,
      random.next() < 0.3 ? [1, alphabet.maxLength] : settings.baseLengths,
    );
    yield {
      prompt: historyPrompt(randomHistory(tools, maxDifficulty, random), callSpec(seed), tools),
      completion: callSpec(vary(seed, alphabet, settings, random)),
    };
  }
}

/** About the seed's length (or, in the easy tail, any length up to it), most of its symbols, any tools. */
function vary(
  { argument }: ToolboxCall,
  world: ToolboxAlphabet,
  { easyTail }: ToolboxWarmUp,
  random: RandomStream,
): ToolboxCall {
  const { tools, symbols, maxLength } = world;
  const length =
    random.next() < easyTail
      ? 1 + random.int(argument.length)
      : Math.max(1, Math.min(maxLength, argument.length + random.int(3) - 1));
  const varied = Array.from({ length }, (_, index) => {
    const kept = argument[index];
    return kept !== undefined && kept !== ',' && random.next() < 0.7 ? kept : random.pick(symbols);
  });
  return {
    tools: random.pick(tools) + innerTools(random, world),
    argument: withCommas(varied.join(''), random, world),
  };
}
