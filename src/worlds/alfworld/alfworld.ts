import type { RandomStream } from '../../numerics/random.ts';
import { historyCharacters, historyDigits } from '../history-digits.ts';
import { readActions, renderActions, writeActions } from '../turn-actions.ts';
import type { TaskSpec, World } from '../world.ts';
import { createCodesForm } from './codes.ts';
import { drawHouse, randomAction } from './draw-task.ts';
import type { HouseWanted } from './draw-task.ts';
import { goalKinds, lamp, objectTypes, receptacleTypes } from './household.ts';
import type { GoalKind } from './household.ts';
import { playHouse } from './room.ts';
import type { HouseAction } from './room.ts';
import type { AlfworldSettings } from './settings.ts';
import { findFlaw, referenceActions } from './solve.ts';
import { houseGrammar, houseSpec, isHeldOutGoal, parseHouse } from './task.ts';
import type { HouseTask } from './task.ts';
import { houseAgentCorpus, houseSimulatorCorpus } from './warm-up.ts';
import { createWordsForm, wordsCharacters } from './words.ts';

/**
 * ALFWorld's text form: the simulator writes a goal and a room, the agent acts turn by turn and sees only what
 * it has looked into, and code owns the room, says what happened and judges by the goal.
 */
export function createAlfworld(settings: AlfworldSettings): World {
  const { turns } = settings;
  const form = settings.form === 'words' ? createWordsForm(settings.format) : createCodesForm(settings);
  const corpus = { form, limits: settings, ...settings.warmUp, baseSteps: settings.baseSteps };
  const cells = cellsOf(settings);
  const taskOf = (spec: TaskSpec): HouseTask => {
    const parsed = parseHouse(spec, settings);
    if ('reason' in parsed)
      throw new RangeError(`${JSON.stringify(spec.slice(0, 80))} is no task of this world: ${parsed.reason}`);
    return parsed.task;
  };
  const referenceOf = (spec: TaskSpec): HouseAction[] => referenceActions(taskOf(spec), settings)!;
  const drawSpecs = (random: RandomStream, count: number, wanted: HouseWanted): TaskSpec[] =>
    Array.from({ length: count }, () => drawHouse(random, settings, wanted)).flatMap((task) =>
      task === undefined ? [] : [houseSpec(task)],
    );
  const play = (spec: TaskSpec, actions: readonly string[]) =>
    playHouse(taskOf(spec), readActions(form, actions.slice(0, turns)), turns);
  return {
    name: 'alfworld',
    vocabulary: settings.form === 'words' ? wordsCharacters : codesCharacters,
    taskGrammar: houseGrammar(settings),
    baseTasks: (random) => drawSpecs(random, settings.baseTasks, { steps: settings.baseSteps }),
    heldOutTasks: (random) =>
      cells.flatMap(({ kind, steps }) =>
        drawSpecs(random, settings.heldOutPerCell, { kind, steps: [steps, steps], isHeldOut: true }),
      ),
    uniformTask: (random) => {
      // A small room may have no task of some cells.
      for (const { kind, steps } of random.shuffle(cells)) {
        const [spec] = drawSpecs(random, 1, { kind, steps: [steps, steps] });
        if (spec !== undefined) return spec;
      }
      throw new RangeError(`no task of this world takes at most ${turns} actions`);
    },
    taskAt: (difficulty, random) => {
      const steps = Math.max(fewestActions.l, Math.min(turns, Math.round(difficulty)));
      const task = drawHouse(random, settings, { steps: [steps, steps] }) ?? drawHouse(random, settings)!;
      return houseSpec(task);
    },
    environmentPrompt: (history, seedTask) =>
      form.simulatorPrompt(historyDigits(history, goalKinds), seedTask),
    parseTask: (text) => {
      const parsed = parseHouse(text, settings);
      if ('reason' in parsed) return { valid: false, reason: parsed.reason };
      const reason = isHeldOutGoal(parsed.task.goal) ? 'held_out_goal' : findFlaw(parsed.task, settings);
      return reason === undefined ? { valid: true, spec: text } : { valid: false, reason };
    },
    agentPrompt: (spec) => form.agentPrompt(taskOf(spec)),
    kind: (spec) => taskOf(spec).goal.kind,
    difficulty: (spec) => referenceOf(spec).length,
    difficultyUnit: 'actions',
    latents: (spec) => {
      const { goal, receptacles } = taskOf(spec);
      const objects = receptacles.flatMap((place) => place.objects);
      return {
        part: isHeldOutGoal(goal) ? 'unseen_goal' : 'usual',
        goal: goal.kind,
        plan: referenceOf(spec).length,
        receptacles: receptacles.length,
        closed: receptacles.filter(({ type }) => closedTypes.has(type)).length,
        objects: objects.length,
      };
    },
    score: (spec, answer) => {
      const actions = answer.split('\n');
      const { won, outcomes } = play(spec, actions);
      const wellFormed =
        actions.length === outcomes.length &&
        readActions(form, actions).every((action) => action !== undefined);
      return { reward: won ? 1 : 0, wellFormed };
    },
    referenceAnswer: (spec) => writeActions(form, referenceOf(spec)),
    randomAnswer: (spec, random) => {
      const task = taskOf(spec);
      const texts: string[] = [];
      while (!playHouse(task, readActions(form, texts), turns).over)
        texts.push(form.printAction(randomAction(random, task)));
      return texts.join('\n');
    },
    renderTask: (spec) => {
      const { goal, receptacles } = taskOf(spec);
      return { goal, room: receptacles, prompt: form.agentPrompt(taskOf(spec)) };
    },
    renderAnswer: renderActions(form, turns),
    warmUpCorpus: (policy, rows, random) =>
      (policy === 'agent' ? houseAgentCorpus : houseSimulatorCorpus)(corpus, rows, random),
    turns: {
      limit: turns,
      wordingPrompt: (spec, actions) => (play(spec, actions).over ? undefined : null),
      observe: (spec, actions) => {
        const { room, outcomes } = play(spec, actions);
        return { text: form.observation(room, outcomes.at(-1)!), consistent: true };
      },
    },
  };
}

/** Kinds of goals with the numbers of actions that they can take. */
const cellsOf = ({ turns }: AlfworldSettings): { kind: GoalKind; steps: number }[] =>
  goalKinds.flatMap((kind) =>
    Array.from({ length: turns - fewestActions[kind] + 1 }, (_, index) => ({
      kind,
      steps: index + fewestActions[kind],
    })),
  );

/** With the object in sight of the first place that is looked into, which is the tool and the target too. */
const fewestActions: Record<GoalKind, number> = { p: 4, c: 4, h: 5, k: 5, l: 3, d: 4 };

const closedTypes = new Set(receptacleTypes.flatMap(({ code, isOpenable }) => (isOpenable ? [code] : [])));

const codesCharacters = [
  ...new Set([
    ...historyCharacters,
    ...[...receptacleTypes, ...objectTypes, lamp].map(({ code }) => code),
    ...' ,>?-',
  ]),
].sort();
