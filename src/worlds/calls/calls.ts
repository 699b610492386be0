import type { RandomStream } from '../../numerics/random.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { classifyCallsFailure } from '../json-tasks/failure-class.ts';
import { createJsonTaskWorld } from '../json-tasks/json-task-world.ts';
import type { JsonTaskDefinition } from '../json-tasks/json-task-world.ts';
import { plainWords } from '../json-tasks/plain-words.ts';
import type { LineTasks, OwnTasks } from '../json-tasks/tasks-file.ts';
import { MAX_LENGTH } from '../json-tasks/untrusted-json.ts';
import type { World } from '../world.ts';
import { acceptedValues, callsMatch, sameValue } from './match.ts';
import { callsOutputSchema } from './output-schema.ts';
import { callStyles } from './prompts.ts';
import type { CallStyle } from './prompts.ts';
import type { CallsSettings } from './settings.ts';
import { callCategory, callsTaskSchema, MAX_CONTENT, MAX_MESSAGES } from './task-schema.ts';
import type { ArgumentValue, Call, CallsTask, Parameter } from './task-schema.ts';
import { cutTrace } from './traces.ts';
import { applyWording, shortForm, shortTaskSchema, wordingQuestion, wordPlainly } from './wording.ts';
import { leaksCall, validateCallsTask } from './validate.ts';

/**
 * Function calling as in BFCL and API-Bank: a dialogue, tools, and the calls that it asks for. Code compares
 * an answer with the expected calls; a vote decides whether the dialogue asks for those.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 */
export const createCalls = (settings: CallsSettings, own?: OwnTasks): World =>
  createJsonTaskWorld(callsDefinition(settings), settings, own);

export function callsDefinition({
  style: name,
  categories,
  tasksFile,
  wording,
}: CallsSettings): JsonTaskDefinition<CallsTask> {
  const style: CallStyle = callStyles[name];
  const isWorded = wording !== undefined;
  const isTraced = tasksFile.form === 'traces';
  const countArguments = ({ calls }: CallsTask): number =>
    calls.reduce((sum, call) => sum + Object.keys(call.arguments).length, 0);
  return {
    name: 'calls',
    schema: isWorded ? callsTaskSchema.or(shortTaskSchema.transform(wordPlainly)) : callsTaskSchema,
    outputSchema: callsOutputSchema({ categories, isShort: isWorded }),
    ...(isWorded && {
      shown: shortForm,
      wording: { question: wordingQuestion, apply: applyWording },
    }),
    instructions: `${isWorded ? shortInstructions : instructions}${isTraced && !isWorded ? `\n${tracedInstruction}` : ''}\n\nCategories: ${categories.join(', ')}.`,
    validate: (task) => {
      if (!categories.includes(callCategory(task))) return 'kind_not_allowed';
      // The code's own words are as long as the values that they name.
      if (isWorded && task.dialogue.some(({ content }) => content.length > MAX_CONTENT)) return 'too_long';
      const lastRoles = isTraced ? (['user', 'tool'] as const) : (['user'] as const);
      return (
        validateCallsTask(task, lastRoles) ??
        (leaksCall(task, style.sameText) ? 'answer_in_prompt' : undefined)
      );
    },
    ...(isTraced && { cutLine: (line: string) => cutIntoTasks(line, style) }),
    // Tasks that differ in the order of tools or calls alone are equal.
    canonical: ({ tools, calls, ...rest }) => ({
      ...rest,
      tools: tools.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
      calls: calls.toSorted((left, right) => (canonicalJson(left) < canonicalJson(right) ? -1 : 1)),
    }),
    question: (task) => style.question(task),
    kind: callCategory,
    signature: ({ calls }) => `call ${calls.map((call) => call.name).join(' ')}`,
    difficultyUnit: 'calls, arguments and tools',
    difficulty: (task) => task.calls.length + countArguments(task) + task.tools.length - 1,
    latents: (task) => ({
      category: callCategory(task),
      calls: task.calls.length,
      arguments: countArguments(task),
      tools: task.tools.length,
      messages: task.dialogue.length,
    }),
    score: ({ calls, tools }, answer) => {
      const actualCalls = style.read(answer);
      return {
        reward: actualCalls !== undefined && callsMatch(calls, tools, actualCalls, style.sameText) ? 1 : 0,
        wellFormed: actualCalls !== undefined,
      };
    },
    failure: ({ calls }, answer) => classifyCallsFailure(calls, style.read(answer)),
    referenceAnswer: (task) => style.write(referenceCalls(task)),
    randomAnswer: (task, random) => style.write(randomCalls(task, random)),
    renderAnswer: (answer) => ({ calls: style.read(answer) ?? null, response: answer }),
    answersAgree: (_, left, right) => {
      const [leftCalls, rightCalls] = [style.read(left), style.read(right)];
      // Compared in order: answers list calls in the order of the request.
      return (
        leftCalls !== undefined &&
        rightCalls !== undefined &&
        sameValue(leftCalls, rightCalls, style.sameText)
      );
    },
  };
}

const shortInstructions = `You write training tasks in function calling for an agent. A task is one JSON object of the form of the task to vary; anything else is worth nothing. Somebody else words a request that asks for the calls.
- tools: name, description, parameters (each with type string, integer, number, boolean, array or object; description, enum, items, properties and required where they help) and required, the names of those that must be given. Several tools make the choice harder.
- calls: name, and in arguments the value of each parameter. Optional parameters may be left out.
One call or several at once (parallel); one tool (simple, parallel) or several (multiple, parallel_multiple).`;

const tracedInstruction =
  'The last message may also be the answer of a tool, after which the agent makes the next calls that the user asked for.';

/**
 * An action that the history holds already could be copied, so it is left out, and so is one whose history is too
 * long for a task.
 */
function cutIntoTasks(line: string, style: CallStyle): LineTasks {
  const steps = cutTrace(line, (calls) => style.write(calls));
  if ('problem' in steps) return steps;
  return steps.flatMap(({ step, task }) => {
    const text = JSON.stringify(task);
    const isTooLong =
      text.length > MAX_LENGTH ||
      task.dialogue.length > MAX_MESSAGES ||
      task.dialogue.some(({ content }) => content.length > MAX_CONTENT);
    // Looking for calls takes long in texts that are too long.
    if (isTooLong) return [];
    const isCopied =
      validateCallsTask(task, ['user', 'tool']) === undefined && leaksCall(task, style.sameText);
    return isCopied ? [] : [{ text, place: `action ${step}` }];
  });
}

/** The first accepted value of each argument; optional arguments without one are left out. */
function referenceCalls({ calls, tools }: CallsTask): Call[] {
  return calls.map(({ name, arguments: accepted }) => {
    const tool = tools.find((candidate) => candidate.name === name)!;
    const first = Object.entries(accepted).map(
      ([parameter, values]) => [parameter, acceptedValues(tool, parameter, values)[0]] as const,
    );
    return { name, arguments: Object.fromEntries(first.filter(([, value]) => value !== undefined)) };
  });
}

const instructions = `You write training tasks in function calling for an agent. A task is one JSON object of the form of the task to vary; anything else is worth nothing.
- dialogue: messages (role user, assistant or tool; content), the last of them the user's request. It must say all that the arguments need, and must not hold a call itself.
- tools: name, description, parameters (each with type string, integer, number, boolean, array or object; description, enum, items, properties and required where they help) and required, the names of those that must be given. Several tools make the choice harder.
- calls: the calls that the request asks for, no more and no fewer; in arguments each parameter has the list of values that are accepted, the usual one first. "" in the list of an optional parameter says that it may be left out. Parameters that are not named must be left out.
One call or several at once (parallel); one tool (simple, parallel) or several (multiple, parallel_multiple).`;

/**
 * The expected number of calls of random tools, their required arguments drawn from the dialogue's words and
 * small numbers.
 */
export function randomCalls({ dialogue, tools, calls }: CallsTask, random: RandomStream): Call[] {
  const words = dialogue.flatMap(({ content }) => plainWords(content));
  const value = ({
    type,
    enum: allowed,
    items,
    properties = {},
    required = [],
  }: Parameter): ArgumentValue => {
    if (allowed !== undefined) return random.pick(allowed);
    switch (type) {
      case 'string':
        return words.length === 0 ? 'yes' : random.pick(words);
      case 'boolean':
        return random.int(2) === 0;
      case 'array':
        return [value(items ?? { type: 'string' })];
      case 'object':
        return object(properties, required);
      default:
        return random.int(10);
    }
  };
  const object = (
    parameters: Record<string, Parameter>,
    required: readonly string[],
  ): Record<string, ArgumentValue> =>
    Object.fromEntries(required.map((name) => [name, value(parameters[name]!)]));
  return calls.map(() => {
    const tool = random.pick(tools);
    return { name: tool.name, arguments: object(tool.parameters, tool.required) };
  });
}
