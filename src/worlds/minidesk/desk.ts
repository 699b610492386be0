import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { deskSpec } from './task.ts';
import type { Condition, DeskAlphabet, DeskRecord, DeskTask } from './task.ts';

export type DeskAction =
  | { tool: 'find'; colour: string }
  | { tool: 'move'; key: string; place: string }
  | { tool: 'paint'; key: string; colour: string }
  | { tool: 'done' };

/** The outcome of an action. Only code knows it; wordings are checked against it. */
export type DeskOutcome =
  | { kind: 'ok'; action: Extract<DeskAction, { key: string }> }
  | { kind: 'found'; records: readonly DeskRecord[] }
  | { kind: 'missing'; key: string }
  | { kind: 'error' }
  | { kind: 'malformed' }
  | { kind: 'done' };

/** Reads `fr`, `ma2`, `pay` or `d`: nothing before, nothing after. */
export function parseDeskAction(
  text: string,
  { keys, colours, places }: DeskAlphabet,
): DeskAction | undefined {
  const [tool = '', first = '', second = ''] = text;
  if (text === 'd') return { tool: 'done' };
  if (tool === 'f' && text.length === 2 && colours.includes(first)) return { tool: 'find', colour: first };
  if (text.length !== 3 || !keys.includes(first)) return undefined;
  if (tool === 'm' && places.includes(second)) return { tool: 'move', key: first, place: second };
  if (tool === 'p' && colours.includes(second)) return { tool: 'paint', key: first, colour: second };
  return undefined;
}

export function actionText(action: DeskAction): string {
  switch (action.tool) {
    case 'find':
      return `f${action.colour}`;
    case 'move':
      return `m${action.key}${action.place}`;
    case 'paint':
      return `p${action.key}${action.colour}`;
    case 'done':
      return 'd';
  }
}

/** Turns at which the tools fail, derived from the task's text alone. */
export function errorTurns(task: DeskTask, { turns }: DeskAlphabet): ReadonlySet<number> {
  if (task.errors === 0) return NO_ERRORS;
  let failing = errorTurnCache.get(task);
  if (failing === undefined) {
    const before = Array.from({ length: turns - 1 }, (_, turn) => turn);
    errorTurnCache.set(
      task,
      (failing = new Set(
        randomStream(deriveSeed(deskSpec(task), 'tool-errors'))
          .shuffle(before)
          .slice(0, task.errors),
      )),
    );
  }
  return failing;
}

const NO_ERRORS: ReadonlySet<number> = new Set();
/** Error turns by task object; an object belongs to one world. */
const errorTurnCache = new WeakMap<DeskTask, ReadonlySet<number>>();

export const conditionsHold = (records: readonly DeskRecord[], conditions: readonly Condition[]): boolean =>
  conditions.every(
    ({ key, attribute, value }) => records.find((record) => record.key === key)?.[attribute] === value,
  );

/** The desk after one action, and its outcome. */
export function applyAction(
  records: readonly DeskRecord[],
  action: DeskAction | undefined,
  fails: boolean,
): { records: readonly DeskRecord[]; outcome: DeskOutcome } {
  if (action === undefined) return { records, outcome: { kind: 'malformed' } };
  if (action.tool === 'done') return { records, outcome: { kind: 'done' } };
  if (fails) return { records, outcome: { kind: 'error' } };
  if (action.tool === 'find')
    return {
      records,
      outcome: { kind: 'found', records: records.filter(({ colour }) => colour === action.colour) },
    };
  if (!records.some(({ key }) => key === action.key))
    return { records, outcome: { kind: 'missing', key: action.key } };
  const changed = action.tool === 'move' ? { place: action.place } : { colour: action.colour };
  return {
    records: records.map((record) => (record.key === action.key ? { ...record, ...changed } : record)),
    outcome: { kind: 'ok', action },
  };
}

/**
 * A rollout so far, from its actions alone. It is over when the agent says "done" or its turns are used up.
 */
export interface PlayedDesk {
  records: readonly DeskRecord[];
  outcomes: DeskOutcome[];
  over: boolean;
  /** The agent said "done". */
  done: boolean;
}

export function playActions(task: DeskTask, actions: readonly string[], world: DeskAlphabet): PlayedDesk {
  const failing = errorTurns(task, world);
  let records: readonly DeskRecord[] = task.records;
  const outcomes: DeskOutcome[] = [];
  for (const [turn, text] of actions.slice(0, world.turns).entries()) {
    const step = applyAction(records, parseDeskAction(text, world), failing.has(turn));
    records = step.records;
    outcomes.push(step.outcome);
    if (step.outcome.kind === 'done') break;
  }
  const done = outcomes.at(-1)?.kind === 'done';
  return { records, outcomes, over: done || outcomes.length >= world.turns, done };
}
