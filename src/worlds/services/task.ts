import { z } from 'zod';
import { comparable, execute, serviceTools, stateSchema } from './backend.ts';
import type { ServiceCall, ServiceResult, ServiceState } from './backend.ts';

/** What the simulator writes: the services' state, and for each turn the calls that its request asks for. */

const value = z.union([z.string().min(1).max(200), z.int()]);
const callSchema = z.strictObject({
  name: z.string().regex(/^[a-z_]{1,20}$/),
  arguments: z.record(z.string().regex(/^[a-z]{1,10}$/), value),
});

export const servicesTaskSchema = z.strictObject({
  state: stateSchema,
  turns: z.array(z.array(callSchema).min(1).max(4)).min(1).max(4),
});

export type ServicesTask = z.infer<typeof servicesTaskSchema>;
export type ProgramCall = z.infer<typeof callSchema>;

/** `$1` as a text or a title: the result of the first call of the same turn, which reads a file. */
const reference = /^\$([1-4])$/;
export const referenceTo = (text: unknown): number | undefined => {
  const [, number] = typeof text === 'string' ? (reference.exec(text) ?? []) : [];
  return number === undefined ? undefined : Number(number) - 1;
};

/** What the label's program does in a turn: the calls with their references filled in, and what they gave. */
export interface TurnLabel {
  calls: ServiceCall[];
  results: ServiceResult[];
  /** After the turn. */
  state: ServiceState;
}

/**
 * Executes the program of a task: its labels; undefined for a reference to what is no text that was read, and for
 * one that requests do not put into words.
 */
export function label({ state: start, turns }: ServicesTask): TurnLabel[] | undefined {
  let state = start;
  const labels: TurnLabel[] = [];
  for (const program of turns) {
    const turn: TurnLabel = { calls: [], results: [], state };
    for (const call of program) {
      const made: Record<string, unknown> = {};
      for (const [name, written] of Object.entries(call.arguments)) {
        const at = referenceTo(written);
        const result = at === undefined ? undefined : turn.results[at];
        if (
          at !== undefined &&
          (!['text', 'title'].includes(name) ||
            program[at]?.name !== 'read_file' ||
            result === undefined ||
            'error' in result)
        )
          return undefined;
        made[name] = result !== undefined && 'ok' in result ? result.ok : written;
      }
      const executed = execute(state, { name: call.name, arguments: made });
      state = executed.state;
      turn.calls.push({ name: call.name, arguments: made });
      turn.results.push(executed.result);
    }
    labels.push({ ...turn, state });
  }
  return labels;
}

/** Why a task has no right answer, or one that costs nothing; undefined if it is sound. */
export function validateServicesTask(task: ServicesTask): string | undefined {
  const { state, turns } = task;
  const names = state.files.map(({ folder, name }) => `${folder}/${name}`);
  const ids = state.tickets.map(({ id }) => id);
  if (new Set(names).size !== names.length || new Set(ids).size !== ids.length) return 'ambiguous_state';
  if (turns.flat().some(({ name }) => !Object.hasOwn(serviceTools, name))) return 'unknown_tool';
  const labels = label(task);
  if (labels === undefined) return 'wrong_reference';
  let before = state;
  for (const { calls, results, state: after } of labels) {
    if (results.some((result) => 'error' in result)) return 'call_fails';
    // What is undone within its turn could be left undone.
    if (comparable(before) === comparable(after) && !calls.some(({ name }) => serviceTools[name]!.reads))
      return 'no_effect';
    before = after;
  }
  return undefined;
}
