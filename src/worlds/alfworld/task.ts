import type { TaskSpec } from '../world.ts';
import { goalKinds, lamp, objectNamed, objectTypes, receptacleNamed, receptacleTypes } from './household.ts';
import type { GoalKind } from './household.ts';

/**
 * A task as the simulator writes it: `cm>T|C,Cme,T,S,Fa` is "put a clean mug in countertop" in a room with two
 * cabinets, of which the second has a mug and an egg, a countertop, a sinkbasin, and a fridge with an apple.
 * Numbers follow from the order: `Cme` is cabinet 2 with mug 1 and egg 1.
 */
export interface HouseTask {
  goal: Goal;
  receptacles: readonly { type: string; objects: readonly string[] }[];
}

export interface Goal {
  kind: GoalKind;
  object: string;
  /** Code of the receptacle type; that of the lamp if the object is looked at under it. */
  target: string;
}

/** Sizes of the world, from its settings. */
export interface HouseLimits {
  receptacles: number;
  objects: number;
  turns: number;
}

/** Most objects in one receptacle at first. */
export const MAX_INSIDE = 3;

export const goalText = ({ kind, object, target }: Goal): string => `${kind}${object}>${target}`;

export const houseSpec = ({ goal, receptacles }: HouseTask): TaskSpec =>
  `${goalText(goal)}|${receptacles.map(({ type, objects }) => type + objects.join('')).join(',')}`;

/** Longest task text of a world in characters. */
export const maxSpecLength = ({ receptacles, objects }: HouseLimits): number =>
  'cm>T|'.length + 2 * receptacles - 1 + Math.min(objects, MAX_INSIDE * receptacles);

/** Parses a task and checks its form and values; `findFlaw` checks whether it can be solved. */
export function parseHouse(text: string, limits: HouseLimits): { task: HouseTask } | { reason: string } {
  if (text === '') return { reason: 'empty' };
  if (text.length > maxSpecLength(limits)) return { reason: 'too_long' };
  const match = /^([pchkd][a-z]>[A-Z]|l[a-z]>l)\|([A-Z][a-z]*(?:,[A-Z][a-z]*)*)$/.exec(text);
  if (match === null) return { reason: 'unparsable' };
  const [, goalPart = '', roomPart = ''] = match;
  const goal: Goal = {
    kind: goalPart.charAt(0) as GoalKind,
    object: goalPart.charAt(1),
    target: goalPart.charAt(3),
  };
  if (objectNamed(goal.object) === undefined) return { reason: 'bad_goal' };
  if (goal.kind !== 'l' && receptacleNamed(goal.target) === undefined) return { reason: 'bad_goal' };
  const receptacles = roomPart.split(',').map((part) => ({
    type: part.charAt(0),
    objects: [...part.slice(1)],
  }));
  if (receptacles.length > limits.receptacles) return { reason: 'too_many_receptacles' };
  const objects = receptacles.flatMap((place) => place.objects);
  if (objects.length > limits.objects || receptacles.some((place) => place.objects.length > MAX_INSIDE))
    return { reason: 'too_many_objects' };
  const isKnown = (code: string): boolean => code === lamp.code || objectNamed(code) !== undefined;
  const types = receptacles.map(({ type }) => type);
  if (types.some((type) => receptacleNamed(type) === undefined) || !objects.every(isKnown))
    return { reason: 'bad_room' };
  return { task: { goal, receptacles } };
}

/**
 * Whether the goal is kept for held-out tasks: a fifth of all pairs of an object and a receptacle, so that
 * each object and each receptacle is in training, and these pairs never are.
 */
export function isHeldOutGoal({ object, target }: Goal): boolean {
  const objectIndex = objectTypes.findIndex(({ code }) => code === object);
  const targetIndex = receptacleTypes.findIndex(({ code }) => code === target);
  return (objectIndex + Math.max(0, targetIndex)) % HELD_OUT_EVERY === 0;
}
const HELD_OUT_EVERY = 5;

const anyOf = (codes: readonly string[]): string => `[${codes.join('')}]`;

/**
 * The simulator's texts as a grammar in xgrammar's EBNF: bounded, and with every task. What it cannot say is how
 * many objects there are in all, and whether a task can be solved.
 */
export function houseGrammar({ receptacles }: HouseLimits): string {
  const objects = anyOf(objectTypes.map(({ code }) => code));
  const placing = anyOf(goalKinds.filter((kind) => kind !== 'l'));
  return [
    `root ::= goal "|" receptacle ("," receptacle){0,${receptacles - 1}}`,
    `goal ::= ${placing} ${objects} ">" place | "l" ${objects} ">${lamp.code}"`,
    `receptacle ::= place object{0,${MAX_INSIDE}}`,
    `object ::= ${anyOf([...objectTypes.map(({ code }) => code), lamp.code])}`,
    `place ::= ${anyOf(receptacleTypes.map(({ code }) => code))}`,
  ].join('\n');
}
