import { readLiteral } from '../../formats/python-literal.ts';
import type { ReadLiteral } from '../../formats/python-literal.ts';
import { stripReasoning } from '../../formats/toolrl.ts';
import { parseUntrustedJson } from '../json-tasks/untrusted-json.ts';
import type { Call } from './task-schema.ts';

/**
 * Calls as ToolRL asks for them in API-Bank: one block at the end, a line of JSON with `name` and
 * `parameters` each.
 */

const [open, close] = ['<tool_call>', '</tool_call>'];

/**
 * The calls of an answer, which may reason before them; undefined unless it ends with its only block and that
 * holds nothing but calls.
 */
export function readJsonCalls(answer: string): Call[] | undefined {
  const text = answer.trim();
  const parts = text.split(/<\/?tool_call>/);
  if (parts.length !== 3 || !text.endsWith(close) || text.indexOf(open) > text.indexOf(close))
    return undefined;
  const lines = parts[1]!.split('\n').filter((line) => line.trim() !== '');
  const calls = lines.map(readJsonCall);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function readJsonCall(line: string): Call | undefined {
  const json = parseUntrustedJson(line);
  if (
    'reason' in json ||
    typeof json.value !== 'object' ||
    json.value === null ||
    Object.keys(json.value).length !== 2
  )
    return undefined;
  const { name, parameters } = json.value as { name?: unknown; parameters?: unknown };
  return typeof name === 'string' &&
    typeof parameters === 'object' &&
    parameters !== null &&
    !Array.isArray(parameters)
    ? { name, arguments: parameters as Call['arguments'] }
    : undefined;
}

export const writeJsonCalls = (calls: readonly Call[]): string =>
  [open, ...calls.map(({ name, arguments: parameters }) => JSON.stringify({ name, parameters })), close].join(
    '\n',
  );

/**
 * Calls as BFCL asks for them: `[find(city='Oslo', limit=3), book(id=7)]`. Nothing of a text is evaluated.
 */

/** Characters; a longer answer counts as no answer. */
const MAX_ANSWER_LENGTH = 20_000;
const space = /\s*/y;
const dotted = /[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/y;
const keyword = /[A-Za-z_]\w*/y;

/** Reads the value of an argument at a position of the text; undefined if there is none. */
export type ReadArgument = (
  text: string,
  at: number,
) => { value: unknown; end: ReadLiteral['end'] } | undefined;

/** A call given as an argument. An object of its own, so that no dict is taken for it. */
export class NestedCall {
  readonly call: Call;
  constructor(call: Call) {
    this.call = call;
  }
}

const MAX_NESTED = 20;

/** Arguments that are literals or calls, as in `add(a=add(a=1, b=2), b=3)`. */
export const literalOrCall =
  (depth = 0): ReadArgument =>
  (text, at) => {
    const literal = readLiteral(text, at);
    if (literal !== undefined || depth === MAX_NESTED) return literal;
    const nested = readPythonCall(text, skip(space, text, at), literalOrCall(depth + 1));
    return nested && { value: new NestedCall(nested.call), end: nested.end };
  };

/** The calls of an answer, after reasoning up to `</think>`; undefined if the rest is not a list of calls. */
export function readPythonCalls(
  answer: string,
  readArgument: ReadArgument = readLiteral,
): Call[] | undefined {
  if (answer.length > MAX_ANSWER_LENGTH) return undefined;
  const text = stripReasoning(answer).trim();
  if (!text.startsWith('[')) return undefined;
  const calls: Call[] = [];
  let at = skip(space, text, 1);
  for (;;) {
    const read = readPythonCall(text, at, readArgument);
    if (read === undefined) return undefined;
    calls.push(read.call);
    at = skip(space, text, read.end);
    if (text[at] === ']') return at === text.length - 1 ? calls : undefined;
    if (text[at] !== ',') return undefined;
    at = skip(space, text, at + 1);
  }
}

/** The call that begins at `start`, its arguments by name; undefined if none does. */
export function readPythonCall(
  text: string,
  start: number,
  readArgument: ReadArgument = readLiteral,
): { call: Call; end: number } | undefined {
  const parenthesis = skip(dotted, text, start);
  if (parenthesis === start || text[parenthesis] !== '(') return undefined;
  const args = new Map<string, unknown>();
  let at = skip(space, text, parenthesis + 1);
  while (text[at] !== ')') {
    const equals = skip(space, text, skip(keyword, text, at));
    const name = text.slice(at, skip(keyword, text, at));
    if (name === '' || text[equals] !== '=' || args.has(name)) return undefined;
    const argument = readArgument(text, equals + 1);
    if (argument === undefined) return undefined;
    args.set(name, argument.value);
    at = skip(space, text, argument.end);
    if (text[at] === ',') at = skip(space, text, at + 1);
    else if (text[at] !== ')') return undefined;
  }
  return { call: { name: text.slice(start, parenthesis), arguments: Object.fromEntries(args) }, end: at + 1 };
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

export const writePythonCalls = (calls: readonly Call[]): string =>
  `[${calls.map(writePythonCall).join(', ')}]`;

const writePythonCall = ({ name, arguments: args }: Call): string =>
  `${name}(${Object.entries(args)
    .map(([parameter, value]) => `${parameter}=${writePythonLiteral(value)}`)
    .join(', ')})`;

/** A value of JSON as Python writes it, or a nested call. */
export function writePythonLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writePythonLiteral).join(', ')}]`;
  if (value instanceof NestedCall) return writePythonCall(value.call);
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, item]) => `${writePythonLiteral(key)}: ${writePythonLiteral(item)}`)
      .join(', ')}}`;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null) return 'None';
  if (typeof value !== 'string') return JSON.stringify(value);
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t')}'`;
}
