import { programFault } from './program.ts';
import type { Argument, Program, ProgramCall, ProgramLimits } from './program.ts';
import { tools } from './tools.ts';
import type { Value } from './values.ts';

/** Characters of a line; one within the limits of all settings is shorter. */
const MAX_LINE = 1200;
/** What a line is made of; an error is any other character. */
const token = /\s*(?:([A-Za-z_]\w*)\s*\(|(-?\d+(?:\.\d+)?)|"([^"\\\n]*)"|'([^'\\\n]*)'|([[\](),;]))/y;

class Refused extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(reason);
    this.reason = reason;
  }
}

type Token = { call?: string; value?: Value; mark?: string };

function readTokens(line: string): Token[] {
  const tokens: Token[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < line.length) {
    const match = token.exec(line);
    if (match === null) throw new Refused('not_a_program');
    const [, call, numeral, double, single, mark] = match;
    const text = double ?? single;
    if (call !== undefined) tokens.push({ call });
    else if (numeral !== undefined) tokens.push({ value: Number(numeral) });
    else tokens.push(text === undefined ? { mark: mark! } : { value: text });
  }
  return tokens;
}

/** Reads a line of calls with positional arguments. Nothing is evaluated. */
function readProgram(line: string): Program {
  const tokens = readTokens(line);
  let at = 0;
  const expectMark = (mark: string): void => {
    if (tokens[at++]?.mark !== mark) throw new Refused('not_a_program');
  };
  const isMark = (mark: string): boolean => tokens[at]?.mark === mark;
  const readList = <Item>(close: string, read: () => Item): Item[] => {
    const items: Item[] = [];
    while (!isMark(close)) {
      if (items.length > 0) expectMark(',');
      items.push(read());
    }
    expectMark(close);
    return items;
  };
  const readNumber = (): number => {
    const value = tokens[at++]?.value;
    if (typeof value !== 'number') throw new Refused('not_a_program');
    return value;
  };
  const readArgument = (): Argument => {
    const { call, value, mark } = tokens[at] ?? {};
    if (call !== undefined) return readCall();
    at += 1;
    if (value !== undefined) return value;
    if (mark !== '[') throw new Refused('not_a_program');
    return readList(']', readNumber);
  };
  const readCall = (): ProgramCall => {
    const { call } = tokens[at++] ?? {};
    if (call === undefined) throw new Refused('not_a_program');
    const args = readList(')', readArgument);
    const tool = tools.get(call);
    if (tool === undefined) throw new Refused('unknown_tool');
    return { tool, args };
  };
  const program = [readCall()];
  while (at < tokens.length) {
    expectMark(';');
    program.push(readCall());
  }
  return program;
}

/** Parses the text that the simulator wrote. */
export function parseProgram(
  text: string,
  limits: ProgramLimits,
  mayBeReserved = false,
): { program: Program } | { reason: string } {
  const line = text.trim();
  if (line === '') return { reason: 'empty' };
  if (line.length > MAX_LINE) return { reason: 'too_long' };
  if (line.includes('\n')) return { reason: 'several_lines' };
  try {
    const program = readProgram(line);
    const reason = programFault(program, limits, mayBeReserved);
    return reason === undefined ? { program } : { reason };
  } catch (error) {
    if (error instanceof Refused) return { reason: error.reason };
    throw error;
  }
}
