import type { TaskSpec } from '../world.ts';

/** A request: encode `argument` for `tool`. Its canonical text is `T:cafe`. */
export interface ToolCall {
  tool: string;
  argument: string;
}

export interface Alphabet {
  tools: readonly string[];
  symbols: readonly string[];
  maxLength: number;
}

const toolLetters = [...'TUVWXYZPQRSK'];
const symbolLetters = [...'abcdefghi'];

/** Tool letters and symbols of a world of this size. */
export function alphabet(settings: { tools: number; symbols: number; maxLength: number }): Alphabet {
  return { tools: toolLetters.slice(0, settings.tools), symbols: symbolLetters.slice(0, settings.symbols), maxLength: settings.maxLength };
}

export const specOf = ({ tool, argument }: ToolCall): TaskSpec => `${tool}:${argument}`;

/** Reads a canonical text; only for texts that `parseRequest` has accepted. */
export const callOf = (spec: TaskSpec): ToolCall => ({ tool: spec.slice(0, 1), argument: spec.slice(2) });

/** Reads what the simulator wrote: `T:cafe`, a known tool, 1 to maxLength known symbols. */
export function parseRequest(text: string, { tools, symbols, maxLength }: Alphabet): { call: ToolCall } | { reason: string } {
  const tool = text.slice(0, 1);
  const argument = text.slice(2);
  if (text.length === 0) return { reason: 'empty' };
  if (text.length > maxLength + 2) return { reason: 'too_long' };
  if (text[1] !== ':') return { reason: 'unparsable' };
  if (!tools.includes(tool)) return { reason: 'unknown_tool' };
  if (argument.length === 0) return { reason: 'no_argument' };
  if ([...argument].some((symbol) => !symbols.includes(symbol))) return { reason: 'unknown_symbol' };
  return { call: { tool, argument } };
}

/** Reads an answer, `T(dbgf)`: nothing before, nothing after. */
export function parseCall(answer: string): ToolCall | undefined {
  const match = /^([A-Z])\(([a-z]*)\)$/.exec(answer);
  return match ? { tool: match[1]!, argument: match[2]! } : undefined;
}
