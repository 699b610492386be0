import { actionText, applyAction, conditionsHold, errorTurns } from './desk.ts';
import type { DeskAction } from './desk.ts';
import type { Condition, DeskAlphabet, DeskRecord, DeskTask, Goal } from './task.ts';

/** Maximum success rate of a random policy on a valid task. */
export const MAX_CHANCE_SUCCESS = 0.05;

/** Why a task that parses is not worth learning from; undefined if it is sound. */
export function findFlaw(task: DeskTask, world: DeskAlphabet): string | undefined {
  const resolved = task.goals.map((goal) => resolve(goal, task.records, world));
  if (resolved.some((key) => key === undefined)) return 'ambiguous_goal';
  const { conditions, goals } = task;
  const agree =
    conditions.length === goals.length &&
    conditions.every(
      ({ key, attribute, value }, index) =>
        key === resolved[index] && attribute === goals[index]!.attribute && value === goals[index]!.value,
    );
  if (!agree) return 'goal_contradicts_predicate';
  if (new Set(conditions.map(({ key, attribute }) => key + attribute)).size < conditions.length)
    return 'contradictory';
  if (conditionsHold(task.records, conditions)) return 'already_true';
  if (referenceActions(task, world) === undefined) return 'unsolvable';
  return successByChance(task, world) > MAX_CHANCE_SUCCESS ? 'solved_by_chance' : undefined;
}

/** The key of the record that a goal names by key or by a unique colour. */
function resolve(
  { subject }: Goal,
  records: readonly DeskRecord[],
  { colours }: DeskAlphabet,
): string | undefined {
  if (!colours.includes(subject)) return records.find(({ key }) => key === subject)?.key;
  const those = records.filter(({ colour }) => colour === subject);
  return those.length === 1 ? those[0]!.key : undefined;
}

/**
 * Actions that solve a task, tool errors included; undefined if none do within the turns. Colours are looked
 * up first, since painting changes them; the rest is the shortest path to the predicate, by breadth-first
 * search.
 */
export function referenceActions(task: DeskTask, world: DeskAlphabet): string[] | undefined {
  let actions = planCache.get(task);
  if (actions === undefined) planCache.set(task, (actions = plan(task, world) ?? 'none'));
  return actions === 'none' ? undefined : actions;
}

/** Plans by task object; an object belongs to one world. */
const planCache = new WeakMap<DeskTask, string[] | 'none'>();

function plan(task: DeskTask, world: DeskAlphabet): string[] | undefined {
  const colours = hiddenColours(task, world);
  const path = shortestPath(task, world.turns);
  if (path === undefined) return undefined;
  const wanted = [
    ...colours.map((colour): DeskAction => ({ tool: 'find', colour })),
    ...path,
    { tool: 'done' as const },
  ];
  const failing = errorTurns(task, world);
  const actions: string[] = [];
  for (const action of wanted) {
    // A failed action is repeated.
    while (action.tool !== 'done' && failing.has(actions.length)) actions.push(actionText(action));
    actions.push(actionText(action));
  }
  return actions.length <= world.turns ? actions : undefined;
}

/** Colours whose record the agent has to find. */
const hiddenColours = ({ goals }: DeskTask, { colours }: DeskAlphabet): string[] => [
  ...new Set(goals.flatMap(({ subject }) => (colours.includes(subject) ? [subject] : []))),
];

/** Lower bound on the actions of a sound task without tool errors: a cheap check before the search. */
export const minActions = (task: DeskTask, world: DeskAlphabet): number =>
  hiddenColours(task, world).length +
  task.conditions.filter((condition) => !conditionsHold(task.records, [condition])).length +
  1;

/** Only actions that fulfil a condition can be part of a shortest path. */
function shortestPath({ records, conditions }: DeskTask, maxActions: number): DeskAction[] | undefined {
  const actions = conditions.map(({ key, attribute, value }): DeskAction =>
    attribute === 'place' ? { tool: 'move', key, place: value } : { tool: 'paint', key, colour: value },
  );
  let frontier: { records: readonly DeskRecord[]; way: DeskAction[] }[] = [{ records, way: [] }];
  const seen = new Set<string>();
  for (let length = 0; length <= maxActions; length++) {
    const goal = frontier.find((node) => conditionsHold(node.records, conditions));
    if (goal !== undefined) return goal.way;
    frontier = frontier
      .flatMap((node) =>
        actions.map((action) => ({
          records: applyAction(node.records, action, false).records,
          way: [...node.way, action],
        })),
      )
      .filter((node) => {
        const state = node.records.map(({ colour, place }) => colour + place).join('');
        return !seen.has(state) && seen.add(state);
      });
  }
  return undefined;
}

/**
 * Exact success rate of a uniformly random policy, by dynamic programming over which conditions hold after
 * each turn. A turn changes at most one condition: it fulfils it with probability 1/4 · 1/keys · 1/values,
 * and breaks it with the probability of the other values.
 */
export function successByChance(task: DeskTask, world: DeskAlphabet): number {
  const { conditions, records } = task;
  const failing = errorTurns(task, world);
  const tool = 1 / 4;
  const matchChance = (condition: Condition): number => tool / world.keys.length / valuesOf(condition, world);
  let alive = new Map<string, number>([
    [conditions.map((condition) => Number(conditionsHold(records, [condition]))).join(''), 1],
  ]);
  let success = 0;
  for (let turn = 0; turn < world.turns; turn++) {
    const next = new Map<string, number>();
    const add = (state: string, chance: number): void =>
      void next.set(state, (next.get(state) ?? 0) + chance);
    for (const [state, chance] of alive) {
      if (!state.includes('0')) success += chance * tool;
      let stays = 1 - tool;
      if (!failing.has(turn)) {
        for (const [index, condition] of conditions.entries()) {
          const wanted = matchChance(condition);
          const flips = state[index] === '1' ? wanted * (valuesOf(condition, world) - 1) : wanted;
          stays -= flips;
          add(
            state.slice(0, index) + (state[index] === '1' ? '0' : '1') + state.slice(index + 1),
            chance * flips,
          );
        }
      }
      add(state, chance * stays);
    }
    alive = next;
  }
  return success;
}

const valuesOf = ({ attribute }: Condition, { places, colours }: DeskAlphabet): number =>
  (attribute === 'place' ? places : colours).length;
