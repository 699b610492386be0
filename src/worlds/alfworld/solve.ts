import { lamp, objectNamed, treatmentOf } from './household.ts';
import { act, createRoom, isGoalReached, isTreated } from './room.ts';
import type { HouseAction, Place, Room } from './room.ts';
import type { Goal, HouseLimits, HouseTask } from './task.ts';

/** Why a task that parses is not worth learning from; undefined if it is sound. */
export function findFlaw(task: HouseTask, limits: HouseLimits): string | undefined {
  const { goal, receptacles } = task;
  const objects = receptacles.flatMap((place) => place.objects);
  const hasPlace = (code: string): boolean => receptacles.some(({ type }) => type === code);
  const treatment = treatmentOf(goal.kind);
  if (objects.filter((code) => code === goal.object).length < (goal.kind === 'd' ? 2 : 1)) return 'no_object';
  if (goal.kind !== 'l' && !hasPlace(goal.target)) return 'no_target';
  if (goal.kind === 'l' && !objects.includes(lamp.code)) return 'no_lamp';
  if (treatment !== undefined && !objectNamed(goal.object)!.treatments.includes(treatment.verb))
    return 'no_such_treatment';
  if (treatment !== undefined && !hasPlace(treatment.tool)) return 'no_tool';
  if (isGoalReached(createRoom(task), goal)) return 'already_true';
  return referenceActions(task, limits) === undefined ? 'too_many_actions' : undefined;
}

/**
 * The actions of a player that knows the goal and what it has seen, and no more: it searches the receptacles
 * in the order of the room's description. Undefined if the goal is not reached within the turns.
 */
export function referenceActions(task: HouseTask, { turns }: HouseLimits): HouseAction[] | undefined {
  const cached = planCache.get(task);
  const plan = cached ?? searchAndSolve(task, turns);
  if (cached === undefined) planCache.set(task, plan);
  return plan.length <= turns ? [...plan] : undefined;
}

/** Plans by task object; an object belongs to one world. */
const planCache = new WeakMap<HouseTask, HouseAction[]>();

/** One action more than the turns if they do not suffice. */
function searchAndSolve(task: HouseTask, turns: number): HouseAction[] {
  const room = createRoom(task);
  const actions: HouseAction[] = [];
  while (!isGoalReached(room, task.goal) && actions.length <= turns) {
    const action = nextAction(room, task.goal);
    act(room, action);
    actions.push(action);
  }
  return actions;
}

/** The next action of that player, whatever was done before. */
export function nextAction(room: Room, goal: Goal): HouseAction {
  const { held, at } = room;
  if (held === undefined) return fetch(room, goal);
  if (held.code !== goal.object) return putDown(room, held.id, at ?? room.places[0]!);
  const treatment = treatmentOf(goal.kind);
  if (treatment !== undefined && !isTreated(held, goal)) {
    const tool = room.places.find(({ code }) => code === treatment.tool)!;
    return at === tool ? { verb: treatment.verb, thing: held.id, place: tool.id } : go(tool);
  }
  if (goal.kind === 'l') return useLamp(room);
  return putDown(room, held.id, targetOf(room, goal));
}

const go = (place: Place): HouseAction => ({ verb: 'go', place: place.id });

function putDown({ at }: Room, thing: string, place: Place): HouseAction {
  if (at !== place) return go(place);
  return place.isOpen ? { verb: 'move', thing, place: place.id } : { verb: 'open', place: place.id };
}

/** The target that has most of the goal's objects already, as far as was seen; the first of equals. */
function targetOf({ places }: Room, goal: Goal): Place {
  const targets = places.filter(({ code }) => code === goal.target);
  const count = (place: Place): number =>
    place.isSeen ? place.things.filter(({ code }) => code === goal.object).length : 0;
  return targets.reduce((best, place) => (count(place) > count(best) ? place : best));
}

/** Takes an object that was seen and is not where it should be; else looks into the next receptacle. */
function fetch(room: Room, goal: Goal): HouseAction {
  const target = goal.kind === 'd' ? targetOf(room, goal) : undefined;
  for (const place of room.places) {
    const thing = place.things.find(({ code }) => code === goal.object);
    if (!place.isSeen || place === target || thing === undefined) continue;
    if (room.at !== place) return go(place);
    return place.isOpen
      ? { verb: 'take', thing: thing.id, place: place.id }
      : { verb: 'open', place: place.id };
  }
  return search(room);
}

function useLamp(room: Room): HouseAction {
  for (const place of room.places) {
    const light = place.isSeen ? place.things.find(({ code }) => code === lamp.code) : undefined;
    if (light === undefined) continue;
    if (room.at !== place) return go(place);
    return place.isOpen ? { verb: 'use', thing: light.id } : { verb: 'open', place: place.id };
  }
  return search(room);
}

function search({ places, at }: Room): HouseAction {
  if (at !== undefined && !at.isSeen) return { verb: 'open', place: at.id };
  // All was seen only if an object was misplaced beyond what the goal needs.
  return go(places.find(({ isSeen }) => !isSeen) ?? places[0]!);
}
