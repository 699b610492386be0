import { exactMatch } from '../../coevolution/answer-rewards.ts';
import type { Action } from '../../coevolution/answer-rewards.ts';
import { isJsonObject, parseJson } from './tool-descriptions.ts';

/** The expected call of a case. */
export interface GoldCall {
  name: string;
  parameters: Readonly<Record<string, Action>>;
}

/**
 * The calls in a text, as ToolRL's generate.py reads them: what follows the last `<tool_call>` up to
 * `</tool_call>` (the whole text if there is no tag), one JSON value a line; other lines are dropped.
 */
export function parseToolRlCalls(text: string): unknown[] {
  const block = text.trim().split('<tool_call>').at(-1)!.split('</tool_call>')[0]!.trim();
  return block.split('\n').flatMap((line) => {
    const value = parseJson(line);
    return value === undefined ? [] : [value];
  });
}

/**
 * ToolRL's verdict on emitted calls (its evaluate.py): true where any of them equals the gold call, its name
 * and its parameters as JSON. Two quirks are kept: a call that lacks a name or parameters is taken whole as
 * parameters of the gold function, and calls in addition to the correct one cost nothing. A number, a truth
 * value or null ends the search, as it ends the loop there.
 */
export function toolRlMatch(calls: readonly unknown[], { name, parameters }: GoldCall): boolean {
  for (const emitted of calls) {
    const call = typeof emitted === 'string' ? parseJson(emitted) : emitted;
    if (call === undefined || call === null || typeof call === 'number' || typeof call === 'boolean')
      return false;
    const isComplete = isJsonObject(call) && Object.hasOwn(call, 'name') && Object.hasOwn(call, 'parameters');
    const [calledName, calledParameters] = isComplete ? [call.name, call.parameters] : [name, call];
    if (calledName === name && exactMatch(calledParameters as Action, parameters) === 1) return true;
  }
  return false;
}

/**
 * The same verdict without the holes, for rewards: 1 if the text has exactly one `<tool_call>` block, in it
 * one JSON object on one line, and that has exactly a name and parameters, both equal to gold; else 0.
 */
export function strictCallMatch(text: string, gold: GoldCall): 0 | 1 {
  const tag = /<\/?tool_call>/g;
  if (text.match(tag)?.join('') !== '<tool_call></tool_call>') return 0;
  const line = text.split(tag)[1]!.trim();
  const call = line.includes('\n') ? undefined : parseJson(line);
  return isJsonObject(call)
    ? exactMatch(call as Action, { name: gold.name, parameters: gold.parameters })
    : 0;
}
