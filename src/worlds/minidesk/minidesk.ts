import type { RandomStream } from '../../numerics/random.ts';
import { historyCharacters, historyDigits, historyPrompt } from '../history-digits.ts';
import type { TaskSpec, World } from '../world.ts';
import { conditionsHold, parseDeskAction, playActions } from './desk.ts';
import { drawDeskTask, randomAction } from './draw-task.ts';
import type { MiniDeskSettings } from './settings.ts';
import { findFlaw, referenceActions } from './solve.ts';
import { deskAlphabet, deskSpec, parseDeskTask } from './task.ts';
import type { DeskTask } from './task.ts';
import { deskAgentCorpus, deskKinds, deskPrompt, deskSimulatorCorpus, observationText } from './warm-up.ts';
import { defaultWording, isTrueWording, wordingPrompt } from './wording.ts';

/**
 * MiniDesk: a desk of coloured records to be put in order, over several turns. The simulator writes the desk,
 * the goal, the predicate that checks it, and how each observation is worded; code owns the state, the tool
 * errors and the verdict.
 */
export function createMiniDesk(settings: MiniDeskSettings): World {
  const world = deskAlphabet(settings);
  const warmUp = { ...settings.warmUp, baseSteps: settings.baseSteps };
  const taskOf = (spec: TaskSpec): DeskTask => {
    const parsed = parseDeskTask(spec, world);
    if ('reason' in parsed)
      throw new RangeError(`${JSON.stringify(spec)} is no task of this world: ${parsed.reason}`);
    return parsed.task;
  };
  const countSteps = (spec: TaskSpec): number => referenceActions(taskOf(spec), world)!.length;
  const drawSpecs = (random: RandomStream, count: number, range: readonly [number, number]): TaskSpec[] =>
    Array.from({ length: count }, () => drawDeskTask(random, world, range)).flatMap((task) =>
      task === undefined ? [] : [deskSpec(task)],
    );
  const lengths = Array.from({ length: settings.turns - 1 }, (_, index) => index + 2);
  return {
    name: 'minidesk',
    vocabulary: [...new Set([...historyCharacters, ...deskKinds, ...' ,>@?-'])].sort(),
    baseTasks: (random) => drawSpecs(random, settings.baseTasks, settings.baseSteps),
    heldOutTasks: (random) =>
      lengths.flatMap((length) => drawSpecs(random, settings.heldOutPerCell, [length, length])),
    uniformTask: (random) => {
      // A small desk may have no task of some numbers of actions.
      for (const length of random.shuffle(lengths)) {
        const [spec] = drawSpecs(random, 1, [length, length]);
        if (spec !== undefined) return spec;
      }
      throw new RangeError(`no task of this world takes 2 to ${settings.turns} actions`);
    },
    environmentPrompt: (history, seedTask) =>
      historyPrompt(historyDigits(history, deskKinds), seedTask, deskKinds),
    parseTask: (text) => {
      const parsed = parseDeskTask(text, world);
      const reason = 'reason' in parsed ? parsed.reason : findFlaw(parsed.task, world);
      return reason === undefined ? { valid: true, spec: text } : { valid: false, reason };
    },
    agentPrompt: (spec) => deskPrompt(taskOf(spec), world),
    kind: (spec) => taskKind(taskOf(spec), world.colours),
    difficulty: countSteps,
    difficultyUnit: 'actions',
    latents: (spec) => {
      const { records, conditions, goals, style, errors } = taskOf(spec);
      const hidden = goals.filter(({ subject }) => world.colours.includes(subject)).length;
      return {
        records: records.length,
        conjuncts: conditions.length,
        hidden,
        distractors: records.length - new Set(conditions.map(({ key }) => key)).size,
        errors,
        style,
        plan: countSteps(spec),
      };
    },
    score: (spec, answer) => {
      const task = taskOf(spec);
      const actions = answer.split('\n');
      const { records, done } = playActions(task, actions, world);
      const wellFormed =
        actions.length <= world.turns &&
        actions.every((action) => parseDeskAction(action, world) !== undefined);
      return { reward: done && conditionsHold(records, task.conditions) ? 1 : 0, wellFormed };
    },
    referenceAnswer: (spec) => referenceActions(taskOf(spec), world)!.join('\n'),
    randomAnswer: (_, random) => {
      const actions: string[] = [];
      while (actions.length < world.turns && actions.at(-1) !== 'd')
        actions.push(randomAction(random, world));
      return actions.join('\n');
    },
    renderTask: (spec) => {
      const { records, conditions, goals, style, errors } = taskOf(spec);
      return {
        desk: records,
        goal: goals,
        evaluation: { kind: 'predicate', conditions },
        wording: style === 'v' ? 'verbose' : 'terse',
        toolErrors: errors,
      };
    },
    renderAnswer: (answer) => ({
      actions: answer.split('\n').map((action) => parseDeskAction(action, world) ?? { unparsable: action }),
    }),
    warmUpCorpus: (policy, rows, random) =>
      (policy === 'agent' ? deskAgentCorpus : deskSimulatorCorpus)(world, warmUp, rows, random),
    turns: {
      limit: world.turns,
      wordingPrompt: (spec, actions) => {
        const task = taskOf(spec);
        const { over, outcomes } = playActions(task, actions, world);
        return over ? undefined : wordingPrompt(outcomes.at(-1)!, actions.at(-1)!, task.style);
      },
      observe: (spec, actions, wording) => {
        const task = taskOf(spec);
        const outcome = playActions(task, actions, world).outcomes.at(-1)!;
        const consistent = wording === null || isTrueWording(wording, outcome);
        return {
          text: observationText(
            wording !== null && consistent ? wording : defaultWording(outcome, task.style),
          ),
          consistent,
        };
      },
    },
  };
}

function taskKind({ conditions, goals }: DeskTask, colours: readonly string[]): string {
  const attributes = new Set(conditions.map(({ attribute }) => attribute));
  const single = attributes.has('place') ? 'm' : 'p';
  const kind = attributes.size > 1 ? 'x' : single;
  return goals.some(({ subject }) => colours.includes(subject)) ? kind.toUpperCase() : kind;
}
