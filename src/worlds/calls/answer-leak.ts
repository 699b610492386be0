import { jsonObjects } from '../written/json-objects.ts';
import { callMatches } from './match.ts';
import type { SameText } from './match.ts';
import { readPythonCall } from './python-calls.ts';
import type { Call, CallsTask } from './task-schema.ts';

/** Whether the dialogue holds a call that is asked for, in either way of writing calls: copying would be success. */
export function leaksCall({ dialogue, tools, calls }: CallsTask, same: SameText): boolean {
  const said = dialogue.flatMap(({ content }) => [
    ...callsIn(content),
    ...jsonObjects(content).flatMap(asCall),
  ]);
  return calls.some((gold) =>
    said.some((call) =>
      callMatches(
        gold,
        tools.find(({ name }) => name === gold.name)!,
        call,
        same,
      ),
    ),
  );
}

function callsIn(text: string): Call[] {
  return [...text.matchAll(/(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(/g)].flatMap(
    ({ index }) => readPythonCall(text, index)?.call ?? [],
  );
}

function asCall(object: unknown): Call[] {
  const {
    name,
    arguments: given,
    parameters = given,
  } = object as { name?: unknown; arguments?: unknown; parameters?: unknown };
  return typeof name === 'string' && typeof parameters === 'object' && parameters !== null
    ? [{ name, arguments: parameters as Call['arguments'] }]
    : [];
}
