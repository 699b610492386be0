import { deriveSeed, randomStream } from '../../numerics/random.ts';
import type { TaskSpec } from '../world.ts';

/**
 * A request: encode the arguments for each of these tools. `TU:ca,fe` asks for `T(U(…,…))`; one tool and one
 * argument, `T:cafe`, is the usual case.
 */
export interface ToolboxCall {
  /** Letters, the outermost first. */
  tools: string;
  /** Arguments with commas between. */
  argument: string;
}

export interface ToolboxAlphabet {
  tools: readonly string[];
  /** Those whose verdict is the toss of a coin. */
  coinFlips: ReadonlySet<string>;
  symbols: readonly string[];
  maxLength: number;
  maxDepth: number;
  maxArguments: number;
}

const toolLetters = [...'TUVWXYZPQRSK'];
const symbolLetters = [...'abcdefghi'];

interface Size {
  tools: number;
  symbols: number;
  maxLength: number;
  maxDepth?: number | undefined;
  maxArguments?: number | undefined;
  coinFlipTools?: number | undefined;
}

/** Tool letters and symbols of a world of this size. */
export function toolboxAlphabet({
  tools,
  symbols,
  maxLength,
  maxDepth = 1,
  maxArguments = 1,
  coinFlipTools = 0,
}: Size): ToolboxAlphabet {
  return {
    tools: toolLetters.slice(0, tools),
    coinFlips: new Set(toolLetters.slice(tools - coinFlipTools, tools)),
    symbols: symbolLetters.slice(0, symbols),
    maxLength,
    maxDepth,
    maxArguments,
  };
}

export const callSpec = ({ tools, argument }: ToolboxCall): TaskSpec => `${tools}:${argument}`;

/** Reads a canonical text; only for texts that `parseRequest` has accepted. */
export function referenceCall(spec: TaskSpec): ToolboxCall {
  const colon = spec.indexOf(':');
  return { tools: spec.slice(0, colon), argument: spec.slice(colon + 1) };
}

export const splitArguments = ({ argument }: ToolboxCall): string[] => argument.split(',');

/** The number of look-ups that a call takes: one for each symbol and tool. */
export const countLookUps = (call: ToolboxCall): number =>
  call.tools.length * splitArguments(call).reduce((sum, { length }) => sum + length, 0);

/**
 * Reads what the simulator wrote: `T:cafe`, known tools, known symbols, no more of either than the world has
 * room for.
 */
export function parseRequest(
  text: string,
  { tools, symbols, maxLength, maxDepth, maxArguments }: ToolboxAlphabet,
): { call: ToolboxCall } | { reason: string } {
  if (text.length === 0) return { reason: 'empty' };
  if (text.length > maxLength + maxDepth + 1) return { reason: 'too_long' };
  const colon = text.indexOf(':', 1);
  if (colon === -1 || colon > maxDepth) return { reason: 'unparsable' };
  const call = { tools: text.slice(0, colon), argument: text.slice(colon + 1) };
  if ([...call.tools].some((tool) => !tools.includes(tool))) return { reason: 'unknown_tool' };
  const parts = maxArguments === 1 ? [call.argument] : splitArguments(call);
  if (parts.some((part) => part.length === 0)) return { reason: 'no_argument' };
  if (call.argument.length > maxLength) return { reason: 'too_long' };
  if (parts.length > maxArguments) return { reason: 'too_many_arguments' };
  if ([...parts.join('')].some((symbol) => !symbols.includes(symbol))) return { reason: 'unknown_symbol' };
  return { call };
}

/** An answer: `T(dbgf)`, `T(U(db,gf))`. */
export const callAnswer = ({ tools, argument }: ToolboxCall): string =>
  `${[...tools].map((tool) => `${tool}(`).join('')}${argument}${')'.repeat(tools.length)}`;

/** Reads an answer: nothing before, nothing after. */
export function parseCall(
  answer: string,
  { maxDepth, maxArguments }: ToolboxAlphabet,
): ToolboxCall | undefined {
  const [, opened = '', argument = '', closed = ''] =
    new RegExp(
      `^((?:[A-Z]\\(){1,${maxDepth}})([a-z]*(?:,[a-z]*){0,${maxArguments - 1}})(\\){1,${maxDepth}})$`,
    ).exec(answer) ?? [];
  if (opened === '' || opened.length !== 2 * closed.length) return undefined;
  return { tools: opened.replaceAll('(', ''), argument };
}

/**
 * The agent's prompt, tools and arguments in fixed slots: `T:cafe____=` (fixed places make copying learnable
 * for a tiny model).
 */
export function toolboxPrompt(spec: TaskSpec, { maxLength, maxDepth }: ToolboxAlphabet): string {
  const { tools, argument } = referenceCall(spec);
  return `${tools.padEnd(maxDepth, '_')}:${argument.padEnd(maxLength, '_')}=`;
}

/** What each tool does to each symbol. */
export type ToolCodes = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The hidden maps: for each tool a permutation of the symbols, fixed by the world's seed. */
export function createToolCodes({ tools, symbols }: ToolboxAlphabet, seed: number): ToolCodes {
  return new Map(
    tools.map((tool) => {
      const images = randomStream(deriveSeed(seed, 'toolbox', tool)).shuffle(symbols);
      return [tool, new Map(symbols.map((symbol, index) => [symbol, images[index]!]))];
    }),
  );
}

/** The correct call: every symbol encoded by the innermost tool, then by the next one outwards. */
export function encode(tools: ToolCodes, { tools: letters, argument }: ToolboxCall): ToolboxCall {
  const inwards = [...letters].reverse();
  return {
    tools: letters,
    argument: eachSymbol(argument, (symbol) =>
      inwards.reduce((code, letter) => tools.get(letter)!.get(code)!, symbol),
    ),
  };
}

/** The argument with every symbol replaced and commas kept. */
export const eachSymbol = (argument: string, replace: (symbol: string) => string): string =>
  [...argument].map((symbol) => (symbol === ',' ? symbol : replace(symbol))).join('');
