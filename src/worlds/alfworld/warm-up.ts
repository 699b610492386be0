import type { RandomStream } from '../../numerics/random.ts';
import { randomHistory } from '../history-digits.ts';
import type { CorpusRow } from '../world.ts';
import { drawHouse, randomAction, varyHouse } from './draw-task.ts';
import type { HouseForm } from './form.ts';
import { goalKinds } from './household.ts';
import { act, createRoom, isGoalReached } from './room.ts';
import { nextAction } from './solve.ts';
import { houseSpec } from './task.ts';
import type { HouseLimits, HouseTask } from './task.ts';

export interface HouseCorpus {
  form: HouseForm;
  limits: HouseLimits;
  actionAccuracy: number;
  easyTail: number;
  baseSteps: readonly [number, number];
}

/**
 * Rollouts of the searching player in which some actions are random: it continues from what they led to. Goals
 * of held-out tasks are in no corpus.
 */
export function* houseAgentCorpus(
  corpus: HouseCorpus,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const { form, limits } = corpus;
  for (let row = 0; row < rows; row++) {
    const task = drawTrainingTask(random, limits, [1, limits.turns]);
    const turns = playNoisily(corpus, task, random);
    const [first, ...rest] = turns;
    yield {
      prompt: form.agentPrompt(task),
      completion: first!.write,
      more: rest.map(({ write }, index) => ({ read: turns[index]!.read, write })),
    };
  }
}

/** What is written in each turn, and read after it. */
function playNoisily(
  { form, limits, actionAccuracy }: HouseCorpus,
  task: HouseTask,
  random: RandomStream,
): { write: string; read: string }[] {
  const room = createRoom(task);
  const played: { write: string; read: string }[] = [];
  while (played.length < limits.turns && !isGoalReached(room, task.goal)) {
    const action = random.next() < actionAccuracy ? nextAction(room, task.goal) : randomAction(random, task);
    const write = form.printAction(action);
    // What is written may say less than the action, as codes leave out the place.
    const outcome = act(room, form.parseAction(write)!);
    played.push({ write, read: form.observation(room, outcome) });
  }
  return played;
}

export function* houseSimulatorCorpus(
  { form, limits, baseSteps, easyTail }: HouseCorpus,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const seed = drawTrainingTask(random, limits, random.next() < 0.3 ? [1, limits.turns] : baseSteps);
    yield {
      prompt: form.simulatorPrompt(randomHistory(goalKinds, limits.turns, random), houseSpec(seed)),
      completion: houseSpec(varyHouse(random, seed, limits, easyTail)),
    };
  }
}

function drawTrainingTask(
  random: RandomStream,
  limits: HouseLimits,
  steps: readonly [number, number],
): HouseTask {
  const task = drawHouse(random, limits, { steps });
  if (task === undefined)
    throw new RangeError(
      `world.baseSteps: no task of ${steps.join(' to ')} actions was found with these receptacles, objects and turns; widen the range`,
    );
  return task;
}
