import { soundJson } from '../written/sound-json.ts';
import type { Call } from './task-schema.ts';

/** Calls as ToolRL asks for them in API-Bank: one block at the end, a line of JSON with `name` and `parameters` each. */

const [open, close] = ['<tool_call>', '</tool_call>'];

/** The calls of an answer, working before them allowed; undefined where it has not exactly one block, at its end, of nothing but calls. */
export function readJsonCalls(answer: string): Call[] | undefined {
  const text = answer.trim();
  const parts = text.split(/<\/?tool_call>/);
  if (parts.length !== 3 || !text.endsWith(close) || text.indexOf(open) > text.indexOf(close))
    return undefined;
  const lines = parts[1]!.split('\n').filter((line) => line.trim() !== '');
  const calls = lines.map(readCall);
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

function readCall(line: string): Call | undefined {
  const json = soundJson(line);
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

export const jsonCalls = (calls: readonly Call[]): string =>
  [open, ...calls.map(({ name, arguments: parameters }) => JSON.stringify({ name, parameters })), close].join(
    '\n',
  );
