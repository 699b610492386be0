import { isDeepStrictEqual } from 'node:util';
import { stripReasoning } from '../../formats/toolrl.ts';
import { readPythonCalls } from '../calls/call-formats.ts';
import { comparable, execute } from './backend.ts';
import type { ServiceResult, ServiceState } from './backend.ts';
import { label } from './task.ts';
import { MAX_CALLS } from './settings.ts';
import type { ServicesTask } from './task.ts';

/** Where a rollout stands after some actions. */
export interface Played {
  over: boolean;
  /** Every turn had a call and ended in the label's state, with the label's results among those so far. */
  passed: boolean;
  /** Turns that have ended. */
  turns: number;
  /** What the last action's calls gave; undefined if it ended its turn. */
  results: ServiceResult[] | undefined;
  /** Whether every action was a list of calls or the word that ends a turn. */
  wellFormed: boolean;
}

/** What an agent answers when a request is done. */
export const DONE = 'done';

/**
 * Plays an agent's actions by BFCL's rules of multi-turn cases: calls are executed and their results shown; an answer
 * without calls ends the turn. A turn passes if it had a call, if the state then equals that of the label's program,
 * and if what that program read was read, too, in this turn or an earlier one (`multi_turn_checker` of bfcl-eval).
 * Too many steps in a turn end the rollout.
 */
export function play(task: ServicesTask, actions: readonly string[], stepsPerTurn: number): Played {
  const labels = label(task)!;
  let state: ServiceState = task.state;
  const gathered: ServiceResult[] = [];
  let steps = 0;
  const played: Played = { over: false, passed: true, turns: 0, results: undefined, wellFormed: true };
  for (const action of actions.flatMap((text) => text.split('\n'))) {
    if (played.over) {
      played.wellFormed = false;
      break;
    }
    const calls = readCalls(action);
    if (calls === undefined) {
      const wanted = labels[played.turns]!;
      played.wellFormed &&= stripReasoning(action).trim() === DONE;
      played.passed &&=
        steps > 0 && comparable(state) === comparable(wanted.state) && holds(gathered, wanted.results);
      played.turns += 1;
      played.results = undefined;
      played.over = played.turns === labels.length;
      steps = 0;
      continue;
    }
    steps += 1;
    played.results = calls.map((call) => {
      const executed = execute(state, call);
      state = executed.state;
      return executed.result;
    });
    gathered.push(...played.results);
    if (steps > stepsPerTurn) played.over = true;
  }
  played.passed &&= played.turns === labels.length;
  return played;
}

/** A longer list counts as none: a thousand calls fit into an answer, and each result may be a page. */
function readCalls(action: string): ReturnType<typeof readPythonCalls> {
  const calls = readPythonCalls(action);
  return calls !== undefined && calls.length > MAX_CALLS ? undefined : calls;
}

/** Whether all results are among others, each as often. */
function holds(gathered: readonly ServiceResult[], wanted: readonly ServiceResult[]): boolean {
  const left = [...gathered];
  return wanted.every((result) => {
    const at = left.findIndex((candidate) => isDeepStrictEqual(candidate, result));
    if (at === -1) return false;
    left.splice(at, 1);
    return true;
  });
}
