import type { RandomStream } from '../../numerics/random.ts';
import { historyPrompt, randomHistory } from '../history-digits.ts';
import type { CorpusRow } from '../world.ts';
import { playActions } from './desk.ts';
import { drawDeskTask, randomAction, varyDeskTask } from './draw-task.ts';
import { referenceActions } from './solve.ts';
import { deskSpec, goalsText } from './task.ts';
import type { DeskAlphabet, DeskTask } from './task.ts';
import { defaultWording, wordingPrompt } from './wording.ts';

/**
 * Supervised corpora for two from-scratch models. The agent sees whole rollouts of the reference plan in
 * which some actions are random, and reads their outcomes: the form of a rollout, and success that falls
 * smoothly with the number of actions. The simulator learns to vary a seed task, and to word what happened.
 */
export interface DeskWarmUp {
  actionAccuracy: number;
  easyTail: number;
  wordings: number;
  baseSteps: readonly [number, number];
}

/** The families of tasks: move, paint or both; a capital if a key has to be found first. */
export const deskKinds = ['m', 'p', 'x', 'M', 'P', 'X'] as const;

/** The agent's prompt, the goal in fixed slots: `g>2,a=y=`. */
export const deskPrompt = ({ goals }: DeskTask, { conjuncts }: DeskAlphabet): string =>
  `${goalsText(goals).padEnd(4 * conjuncts - 1, '_')}=`;

/** The agent's observation: a wording and the mark of its turn. */
export const observationText = (wording: string): string => `${wording}=`;

export function* deskAgentCorpus(
  world: DeskAlphabet,
  { actionAccuracy }: DeskWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const task = drawTrainingTask(random, world, [2, world.turns]);
    const actions = drawRollout(task, world, random, actionAccuracy);
    const { outcomes } = playActions(task, actions, world);
    const [first = '', ...rest] = actions;
    yield {
      prompt: deskPrompt(task, world),
      completion: first,
      more: rest.map((write, index) => ({
        read: observationText(defaultWording(outcomes[index]!, task.style)),
        write,
      })),
    };
  }
}

export function* deskSimulatorCorpus(
  world: DeskAlphabet,
  settings: DeskWarmUp,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    if (random.next() < settings.wordings) yield wordingRow(world, settings, random);
    else {
      const seed = drawTrainingTask(
        random,
        world,
        random.next() < 0.3 ? [2, world.turns] : settings.baseSteps,
      );
      yield {
        prompt: historyPrompt(randomHistory(deskKinds, world.turns, random), deskSpec(seed), deskKinds),
        completion: deskSpec(varyDeskTask(random, seed, world, settings.easyTail)),
      };
    }
  }
}

/** One outcome of a rollout in the world's own wording. */
function wordingRow(world: DeskAlphabet, { actionAccuracy }: DeskWarmUp, random: RandomStream): CorpusRow {
  const task = drawTrainingTask(random, world, [2, world.turns]);
  const actions = drawRollout(task, world, random, Math.min(actionAccuracy, 0.6));
  const { outcomes } = playActions(task, actions, world);
  const rows = outcomes.flatMap((outcome, index) =>
    outcome.kind === 'done'
      ? []
      : [
          {
            prompt: wordingPrompt(outcome, actions[index]!, task.style),
            completion: defaultWording(outcome, task.style),
          },
        ],
  );
  // A rollout of only "done" has nothing to word.
  return rows.length === 0
    ? wordingRow(world, { actionAccuracy, easyTail: 0, wordings: 1, baseSteps: [2, world.turns] }, random)
    : random.pick(rows);
}

/** The reference plan, in which each action is random with probability 1 - accuracy. */
function drawRollout(task: DeskTask, world: DeskAlphabet, random: RandomStream, accuracy: number): string[] {
  const actions: string[] = [];
  for (const planned of referenceActions(task, world)!) {
    actions.push(random.next() < accuracy ? planned : randomAction(random, world));
    if (playActions(task, actions, world).over) break;
  }
  return actions;
}

function drawTrainingTask(
  random: RandomStream,
  world: DeskAlphabet,
  steps: readonly [number, number],
): DeskTask {
  const task = drawDeskTask(random, world, steps);
  if (task === undefined)
    throw new RangeError(
      `world.baseSteps: no task of ${steps.join(' to ')} actions was found with these records, places, colours and turns; widen the range`,
    );
  return task;
}
