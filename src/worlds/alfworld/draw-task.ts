import type { RandomStream } from '../../numerics/random.ts';
import { goalKinds, lamp, objectTypes, receptacleTypes, treatmentOf } from './household.ts';
import type { GoalKind } from './household.ts';
import type { HouseAction } from './room.ts';
import { findFlaw, referenceActions } from './solve.ts';
import { houseSpec, isHeldOutGoal, MAX_INSIDE } from './task.ts';
import type { Goal, HouseLimits, HouseTask } from './task.ts';

const MAX_TRIES = 4_000;

export interface HouseWanted {
  /** Fewest and most actions of the reference. */
  steps?: readonly [number, number];
  /** A goal that is kept for held-out tasks; otherwise one that is not. */
  isHeldOut?: boolean;
  kind?: GoalKind;
}

/** A random sound task; undefined if no try finds one. */
export function drawHouse(
  random: RandomStream,
  limits: HouseLimits,
  { steps: [from, to] = [1, limits.turns], isHeldOut = false, kind }: HouseWanted = {},
): HouseTask | undefined {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const task = drawAnyHouse(random, limits, kind ?? random.pick(goalKinds));
    if (isHeldOutGoal(task.goal) !== isHeldOut || findFlaw(task, limits) !== undefined) continue;
    const steps = referenceActions(task, limits)!.length;
    if (steps >= from && steps <= to) return task;
  }
  return undefined;
}

function drawGoal(random: RandomStream, kind: GoalKind): Goal {
  const treatment = treatmentOf(kind);
  const objects = objectTypes.filter(
    ({ treatments }) => treatment === undefined || treatments.includes(treatment.verb),
  );
  const target = kind === 'l' ? lamp.code : random.pick(receptacleTypes).code;
  return { kind, object: random.pick(objects).code, target };
}

/** A room with what the goal needs, if there is space for it, and other things. */
function drawAnyHouse(random: RandomStream, limits: HouseLimits, kind: GoalKind): HouseTask {
  const goal = drawGoal(random, kind);
  const tool = treatmentOf(kind)?.tool;
  const isNeeded = (code: string | undefined): code is string => code !== undefined && code !== lamp.code;
  const types = [...new Set([goal.target, tool])].filter(isNeeded);
  const places = 2 + random.int(limits.receptacles - 1);
  while (types.length < places) types.push(random.pick(receptacleTypes).code);
  const needed = [goal.object, ...(kind === 'd' ? [goal.object] : []), ...(kind === 'l' ? [lamp.code] : [])];
  const spare = random.int(Math.max(1, limits.objects - needed.length + 1));
  const objects = [...needed, ...Array.from({ length: spare }, () => random.pick(objectTypes).code)];
  return { goal, receptacles: placeObjects(random, random.shuffle(types), objects) };
}

function placeObjects(
  random: RandomStream,
  types: readonly string[],
  objects: readonly string[],
): HouseTask['receptacles'] {
  const receptacles = types.map((type) => ({ type, objects: [] as string[] }));
  for (const code of objects) {
    const free = receptacles.filter((place) => place.objects.length < MAX_INSIDE);
    if (free.length > 0) random.pick(free).objects.push(code);
  }
  return receptacles;
}

/** A variation of a task: one part redrawn, or an easier task. The task itself if no sound one is found. */
export function varyHouse(
  random: RandomStream,
  task: HouseTask,
  limits: HouseLimits,
  easyTail: number,
): HouseTask {
  const steps = referenceActions(task, limits)!.length;
  if (random.next() < easyTail) return drawHouse(random, limits, { steps: [1, steps] }) ?? task;
  for (let attempt = 0; attempt < 20; attempt++) {
    const varied = changePart(random, task, limits);
    if (
      houseSpec(varied) !== houseSpec(task) &&
      !isHeldOutGoal(varied.goal) &&
      findFlaw(varied, limits) === undefined
    )
      return varied;
  }
  return task;
}

/** The task with one thing changed, so that most of its text stays. */
function changePart(random: RandomStream, task: HouseTask, limits: HouseLimits): HouseTask {
  const receptacles = task.receptacles.map(({ type, objects }) => ({ type, objects: [...objects] }));
  const place = random.pick(receptacles);
  const otherPlace = random.pick(receptacles);
  switch (random.int(6)) {
    case 0:
      return { ...task, goal: drawGoal(random, random.pick(goalKinds)) };
    case 1:
      otherPlace.objects.push(...place.objects.splice(random.int(MAX_INSIDE), 1));
      break;
    case 2:
      place.objects.push(random.pick([lamp, ...objectTypes]).code);
      break;
    case 3:
      place.objects.splice(random.int(MAX_INSIDE), 1);
      break;
    case 4:
      receptacles.splice(random.int(receptacles.length), 0, {
        type: random.pick(receptacleTypes).code,
        objects: [],
      });
      break;
    default:
      receptacles.splice(random.int(receptacles.length), 1);
  }
  const sizes = receptacles.map(({ objects }) => objects.length);
  const isTooLarge =
    receptacles.length > limits.receptacles ||
    sizes.some((size) => size > MAX_INSIDE) ||
    sizes.reduce((sum, size) => sum + size, 0) > limits.objects;
  return isTooLarge ? task : { ...task, receptacles };
}

/** A command of a policy that knows only the syntax and the names in the room. */
export function randomAction(random: RandomStream, { receptacles }: HouseTask): HouseAction {
  const objects = receptacles.flatMap((place) => place.objects);
  const place = numbered(
    random,
    receptacles.map(({ type }) => type),
  );
  const thing = objects.length === 0 ? `${objectTypes[0]!.code}1` : numbered(random, objects);
  const verb = random.pick(['go', 'open', 'close', 'take', 'move', 'clean', 'heat', 'cool', 'use'] as const);
  if (verb === 'go' || verb === 'open' || verb === 'close') return { verb, place };
  return verb === 'use' ? { verb, thing } : { verb, thing, place };
}

/** The id of one of the codes, such as `C2`. */
function numbered(random: RandomStream, codes: readonly string[]): string {
  const code = random.pick(codes);
  return `${code}${1 + random.int(codes.filter((candidate) => candidate === code).length)}`;
}
