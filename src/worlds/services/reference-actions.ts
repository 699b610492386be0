import { isDeepStrictEqual } from 'node:util';
import { writePythonCalls } from '../calls/call-formats.ts';
import { comparable, execute } from './backend.ts';
import type { ServiceCall, ServiceResult, ServiceState } from './backend.ts';
import { DONE, play } from './play.ts';
import { label, referenceTo } from './task.ts';
import type { ProgramCall, ServicesTask } from './task.ts';

/**
 * The label's program as actions: a call each, since a later one may need what an earlier one reads. A turn of
 * more calls than steps has lists of calls that do not need each other's results.
 */
export function referenceActions(task: ServicesTask, stepsPerTurn: number): string[] {
  let { state } = task;
  return label(task)!.flatMap(({ calls, state: after }, turn) => {
    const lists =
      calls.length <= stepsPerTurn
        ? calls.map((call) => [call])
        : groupCalls(state, task.turns[turn]!, calls);
    state = after;
    return [...lists.map(writePythonCalls), DONE];
  });
}

/**
 * Whether the reference actions take no more steps than an agent has. A text that an earlier turn has read counts as
 * unread, so a few tasks that an agent could solve are refused.
 */
export const isSolvable = (task: ServicesTask, stepsPerTurn: number): boolean =>
  play(task, referenceActions(task, stepsPerTurn), stepsPerTurn).passed;

/**
 * Puts each call into the earliest list that comes after those which read its texts, and in which the calls so far
 * still do what they do in the program's order.
 */
function groupCalls(
  start: ServiceState,
  program: readonly ProgramCall[],
  calls: readonly ServiceCall[],
): ServiceCall[][] {
  const lists: number[][] = [];
  for (const [at, { arguments: made }] of program.entries()) {
    const reads = Object.values(made).map(referenceTo);
    const from = 1 + lists.findLastIndex((list) => reads.some((read) => list.includes(read ?? -1)));
    const inOrder = execution(start, calls, [...calls.keys()].slice(0, at + 1));
    const fits = lists.findIndex(
      (_, index) =>
        index >= from &&
        isDeepStrictEqual(execution(start, calls, lists.with(index, [...lists[index]!, at]).flat()), inOrder),
    );
    if (fits === -1) lists.push([at]);
    else lists[fits]!.push(at);
  }
  return lists.map((list) => list.map((at) => calls[at]!));
}

/** What calls give and leave when they are made in an order. */
function execution(
  start: ServiceState,
  calls: readonly ServiceCall[],
  order: readonly number[],
): { results: ServiceResult[]; left: string } {
  let state = start;
  const results: ServiceResult[] = [];
  for (const at of order) {
    const executed = execute(state, calls[at]!);
    state = executed.state;
    results[at] = executed.result;
  }
  return { results, left: comparable(state) };
}
