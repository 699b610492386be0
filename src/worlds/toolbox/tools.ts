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

/** The call that is right: every symbol in the tool's own code. */
export function encode(tools: Tools, { tool, argument }: ToolCall): ToolCall {
  const map = tools.get(tool)!;
  return { tool, argument: [...argument].map((symbol) => map.get(symbol)!).join('') };
}
