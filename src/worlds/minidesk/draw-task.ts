import type { RandomStream } from '../../numerics/random.ts';
import { actionText } from './desk.ts';
import type { DeskAction } from './desk.ts';
import { findFlaw, minActions, referenceActions } from './solve.ts';
import type { Condition, DeskAlphabet, DeskRecord, DeskTask } from './task.ts';

const MAX_TRIES = 2_000;

/** A random sound task that takes `from` to `to` actions; undefined if no try finds one. */
export function drawDeskTask(
  random: RandomStream,
  world: DeskAlphabet,
  [from, to]: readonly [number, number],
): DeskTask | undefined {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const task = drawAnyTask(random, world);
    const fewest = minActions(task, world);
    if (fewest > to || fewest + task.errors < from || findFlaw(task, world) !== undefined) continue;
    const steps = referenceActions(task, world)!.length;
    if (steps >= from && steps <= to) return task;
  }
  return undefined;
}

function drawAnyTask(random: RandomStream, world: DeskAlphabet): DeskTask {
  const records = world.keys.slice(0, 1 + random.int(world.keys.length)).map((key): DeskRecord => ({
    key,
    colour: random.pick(world.colours),
    place: random.pick(world.places),
  }));
  return {
    records,
    ...drawGoals(random, records, world),
    style: random.pick(['t', 'v']),
    errors: random.int(world.maxErrors + 1),
  };
}

/** Conditions on the records, and goals that name each record by key or by a colour that only it has. */
function drawGoals(
  random: RandomStream,
  records: readonly DeskRecord[],
  world: DeskAlphabet,
): Pick<DeskTask, 'goals' | 'conditions'> {
  const conditions = Array.from({ length: 1 + random.int(world.conjuncts) }, (): Condition => {
    const { key } = random.pick(records);
    return random.int(2) === 0
      ? { key, attribute: 'place', value: random.pick(world.places) }
      : { key, attribute: 'colour', value: random.pick(world.colours) };
  });
  const goals = conditions.map(({ key, attribute, value }) => {
    const { colour } = records.find((record) => record.key === key)!;
    const isUnique = records.filter((record) => record.colour === colour).length === 1;
    return { subject: isUnique && random.int(2) === 0 ? colour : key, attribute, value };
  });
  return { conditions, goals };
}

/** A variation of a task: one part redrawn, or an easier task. The task itself if no sound one is found. */
export function varyDeskTask(
  random: RandomStream,
  task: DeskTask,
  world: DeskAlphabet,
  easyTail: number,
): DeskTask {
  const steps = referenceActions(task, world)!.length;
  if (random.next() < easyTail) return drawDeskTask(random, world, [2, steps]) ?? task;
  for (let attempt = 0; attempt < 20; attempt++) {
    const varied = changePart(random, task, world);
    if (findFlaw(varied, world) === undefined) return varied;
  }
  return task;
}

function changePart(random: RandomStream, task: DeskTask, world: DeskAlphabet): DeskTask {
  switch (random.int(4)) {
    case 0:
      return { ...task, ...drawGoals(random, task.records, world) };
    case 1:
      return { ...task, style: random.pick(['t', 'v']), errors: random.int(world.maxErrors + 1) };
    case 2: {
      const records = task.records.map((record) =>
        random.int(task.records.length) === 0
          ? { ...record, place: random.pick(world.places), colour: random.pick(world.colours) }
          : record,
      );
      return { ...task, records };
    }
    default: {
      const records = drawAnyTask(random, world).records;
      return { ...task, records, ...drawGoals(random, records, world) };
    }
  }
}

/** An action of a policy that knows only the syntax: tool and arguments are uniformly random. */
export function randomAction(random: RandomStream, { keys, colours, places }: DeskAlphabet): string {
  const actions: (() => DeskAction)[] = [
    () => ({ tool: 'find', colour: random.pick(colours) }),
    () => ({ tool: 'move', key: random.pick(keys), place: random.pick(places) }),
    () => ({ tool: 'paint', key: random.pick(keys), colour: random.pick(colours) }),
    () => ({ tool: 'done' }),
  ];
  return actionText(random.pick(actions)());
}
