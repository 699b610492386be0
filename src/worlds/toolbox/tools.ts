import { deriveSeed, randomStream } from '../../coevolution/seeds.ts';
import type { Alphabet, ToolCall } from './call.ts';

/** What each tool does to each symbol. */
export type Tools = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The hidden maps: for each tool a permutation of the symbols, fixed by the world's seed. */
export function makeTools({ tools, symbols }: Alphabet, seed: number): Tools {
  return new Map(
    tools.map((tool) => {
      const images = randomStream(deriveSeed(seed, 'toolbox', tool)).shuffle(symbols);
      return [tool, new Map(symbols.map((symbol, index) => [symbol, images[index]!]))];
    }),
  );
}

/** The call that is right: every symbol in the code of the innermost tool, that in the code of the next, and so on outwards. */
export function encode(tools: Tools, { tools: letters, argument }: ToolCall): ToolCall {
  const inwards = [...letters].reverse();
  return {
    tools: letters,
    argument: eachSymbol(argument, (symbol) =>
      inwards.reduce((code, letter) => tools.get(letter)!.get(code)!, symbol),
    ),
  };
}

/** The argument with every symbol replaced, commas left where they are. */
export const eachSymbol = (argument: string, replace: (symbol: string) => string): string =>
  [...argument].map((symbol) => (symbol === ',' ? symbol : replace(symbol))).join('');
