import { z } from 'zod';
import { cutText } from '../../formats/plain-text.ts';
import { stripReasoning } from '../../formats/toolrl.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { readPythonCalls, writePythonCalls } from '../calls/call-formats.ts';
import { createJsonTaskWorld } from '../json-tasks/json-task-world.ts';
import type { JsonTaskDefinition } from '../json-tasks/json-task-world.ts';
import { toOutputSchema } from '../json-tasks/output-schema.ts';
import { frameObservation } from '../turn-actions.ts';
import type { CorpusRow, TaskSpec, World } from '../world.ts';
import { serviceTools } from './backend.ts';
import { drawCall, drawServicesTask } from './draw-task.ts';
import { DONE, play } from './play.ts';
import { isSolvable, referenceActions } from './reference-actions.ts';
import { requestsOf } from './requests.ts';
import type { ServicesSettings } from './settings.ts';
import { referenceTo, servicesTaskSchema, validateServicesTask } from './task.ts';
import type { ServicesTask } from './task.ts';

/**
 * Services: requests of several turns on a file system, messages and tickets whose state code owns. The simulator
 * writes a state and, for each turn, a program of calls; code executes it, which is the label, words the requests, and
 * judges the agent by the state at the end of each turn, as BFCL's multi-turn cases are judged.
 */
export function createServices(settings: ServicesSettings): World {
  const { stepsPerTurn, format, maxCalls } = settings;
  const taskOf = (spec: TaskSpec): ServicesTask => JSON.parse(spec) as ServicesTask;
  const drawSpec = (calls: number, random: RandomStream): TaskSpec =>
    canonicalJson(drawServicesTask(calls, random, (task) => isSolvable(task, stepsPerTurn)));
  const [fewest, most] = settings.heldOutCalls;
  const cells = Array.from({ length: most - fewest + 1 }, (_, index) => fewest + index);
  const drawBaseSpec = (random: RandomStream): TaskSpec => {
    const [from, to] = settings.baseCalls;
    return drawSpec(from + random.int(to - from + 1), random);
  };
  const base = createJsonTaskWorld(servicesDefinition(settings), { ...settings, tasksFile: noFile }, noTasks);
  const observe = (task: ServicesTask, actions: readonly string[]): string => {
    const { results, turns } = play(task, actions, stepsPerTurn);
    return frameObservation(
      format,
      results === undefined ? requestsOf(task)[turns]! : JSON.stringify(results),
    );
  };
  /** The rollout whose actions are the calls of the label's program, with what the agent reads after each. */
  const rowOf = (spec: TaskSpec): CorpusRow => {
    const [first, ...rest] = base.referenceAnswer(spec).split('\n') as [string, ...string[]];
    return {
      prompt: base.agentPrompt(spec),
      completion: first,
      more: rest.map((write, index) => ({
        read: observe(taskOf(spec), [first, ...rest.slice(0, index)]),
        write,
      })),
    };
  };
  return {
    ...base,
    baseTasks: (random) => Array.from({ length: settings.baseTasks }, () => drawBaseSpec(random)),
    *warmUpCorpus(policy, rows, random) {
      if (policy === 'environment') return;
      for (let row = 0; row < rows; row++) yield rowOf(drawBaseSpec(random));
    },
    heldOutTasks: (random) =>
      cells.flatMap((calls) =>
        Array.from({ length: settings.heldOutPerCell }, () => drawSpec(calls, random)),
      ),
    uniformTask: (random) => drawSpec(random.pick(cells), random),
    taskAt: (difficulty, random) => drawSpec(Math.max(1, Math.min(maxCalls, Math.round(difficulty))), random),
    turns: {
      // A request is answered by steps with calls and one that ends the turn.
      limit: 4 * (stepsPerTurn + 2),
      wordingPrompt: (spec, actions) => (play(taskOf(spec), actions, stepsPerTurn).over ? undefined : null),
      observe: (spec, actions) => ({ text: observe(taskOf(spec), actions), consistent: true }),
    },
  };
}

const noFile = { path: '', sha256: null, heldOut: 0.25 };
const noTasks = { base: [], heldOut: [] };

function servicesDefinition({ maxCalls, stepsPerTurn }: ServicesSettings): JsonTaskDefinition<ServicesTask> {
  const countCalls = ({ turns }: ServicesTask): number => turns.flat().length;
  return {
    name: 'services',
    schema: servicesTaskSchema,
    outputSchema: toOutputSchema([servicesTaskSchema]),
    instructions: `${instructions}\nAt most ${maxCalls} calls in all. Tools:\n${toolLines.join('\n')}`,
    validate: (task) => (countCalls(task) > maxCalls ? 'too_many_calls' : validateServicesTask(task)),
    question: (task) => ({ system: agentInstructions, user: requestsOf(task)[0]! }),
    kind: ({ turns }) => `turns_${turns.length}`,
    signature: ({ turns }) =>
      turns
        .flat()
        .slice(0, 6)
        .map(({ name }) => name)
        .join(' '),
    difficultyUnit: 'calls',
    difficulty: countCalls,
    latents: ({ state, turns }) => ({
      calls: turns.flat().length,
      turns: turns.length,
      references: turns.flat().filter((call) => Object.values(call.arguments).some(isReference)).length,
      things: state.files.length + state.tickets.length + state.messages.length,
    }),
    score: (task, answer) => {
      const { passed, wellFormed } = play(task, [answer], stepsPerTurn);
      return { reward: passed ? 1 : 0, wellFormed };
    },
    failure: (task, answer) => {
      const { wellFormed, turns } = play(task, [answer], stepsPerTurn);
      if (!wellFormed) return 'no parse';
      return turns < task.turns.length ? 'wrong tool' : 'wrong answer';
    },
    referenceAnswer: (task) => referenceActions(task, stepsPerTurn).join('\n'),
    randomAnswer: ({ state, turns }, random) =>
      turns.flatMap(() => [writePythonCalls([drawCall(state, [], random)]), DONE]).join('\n'),
    renderAnswer: (answer) => ({
      actions: answer
        .split('\n')
        .slice(0, 200)
        .map((line) => readPythonCalls(line) ?? cutText(stripReasoning(line), 200)),
    }),
  };
}

const isReference = (value: unknown): boolean => referenceTo(value) !== undefined;

const toolLines = Object.entries(serviceTools).map(
  ([name, { description, parameters }]) => `- ${name}(${Object.keys(parameters).join(', ')}): ${description}`,
);

/** The part of BFCL's multi-turn prompt that this form needs. */
const agentInstructions = `You are an expert in composing functions. You are given requests one after the other, and functions on files, messages and tickets. Answer with calls alone, in one line, as [func_name1(params_name1=params_value1), func_name2(params)]; their results are shown to you, and you may call again. When a request is done, answer with the word ${DONE}.

Functions in JSON:
${JSON.stringify(
  Object.entries(serviceTools).map(([name, { description, parameters }]) => {
    const { properties, required } = z.toJSONSchema(z.object(parameters));
    return { name, description, parameters: { type: 'dict', properties, required: required ?? [] } };
  }),
)}
`;

const instructions = `You write training tasks for an agent that uses services on request. A task is one JSON object of the form of the task to vary; anything else is worth nothing.
- state: files (folder, name, text), messages (to, text) and tickets (id, title, priority low, normal or high, closed) as they are before the first request.
- turns: one to four requests of a user, each as the calls that it asks for, one to four, in order. Every call must succeed when it is its turn, and each turn must change something or read something. "$1" as a text stands for what the first call of the same turn has read from a file ("$2" the second, and so on). Code words the requests.
More calls, more turns and texts that must be read first make it harder.`;
