import { z } from 'zod';
import { cutText } from '../../formats/plain-text.ts';
import { MAX_CONTENT, nameSchema, toolName, toolSchema, valueSchema } from './task-schema.ts';
import type { ArgumentValue, CallsTask, CallTool, ExpectedCall, Parameter } from './task-schema.ts';

/**
 * Tasks whose calls come first and whose words come last: the simulator chooses tools and calls, which are the
 * label, and a model words a request for them. Code checks that the words name every argument.
 */

/** What the simulator writes: tools and calls, each with its very arguments. */
export const shortTaskSchema = z.strictObject({
  tools: z.array(toolSchema).min(1).max(20),
  calls: z
    .array(z.strictObject({ name: toolName, arguments: z.record(nameSchema, valueSchema) }))
    .min(1)
    .max(8),
});

type ShortTask = z.infer<typeof shortTaskSchema>;

/** The task of a short form, in the code's own words. */
export const wordPlainly = ({ tools, calls }: ShortTask): CallsTask => ({
  dialogue: [{ role: 'user', content: plainRequest(calls, tools) }],
  tools,
  calls: calls.map(({ name, arguments: made }) => ({
    name,
    arguments: Object.fromEntries(Object.entries(made).map(([parameter, value]) => [parameter, [value]])),
  })),
});

/** The short form of a task: of accepted values the first. */
export const shortForm = ({ tools, calls }: CallsTask): ShortTask => ({
  tools,
  calls: calls.map((call) => ({ name: call.name, arguments: referenceArguments(call, tools) })),
});

function referenceArguments({ name, arguments: accepted }: ExpectedCall, tools: readonly CallTool[]) {
  const required = tools.find((tool) => tool.name === name)?.required ?? [];
  return Object.fromEntries(
    Object.entries(accepted)
      .map(([parameter, values]) => [parameter, values[0]!] as const)
      .filter(([parameter, value]) => value !== '' || required.includes(parameter)),
  );
}

const MAX_DESCRIPTION = 200;

/** A request that says no more and no less than the calls. */
function plainRequest(calls: ShortTask['calls'], tools: readonly CallTool[]): string {
  const sentences = calls.map(({ name, arguments: made }) => {
    const tool = tools.find((candidate) => candidate.name === name);
    const description = cutText(tool?.description ?? name, MAX_DESCRIPTION);
    const values = Object.entries(made).map(([parameter, value]) => `${spaced(parameter)}: ${shown(value)}`);
    return `${description.replace(/\.$/, '')}${values.length === 0 ? '' : ` (${values.join('; ')})`}.`;
  });
  return `Please do this. ${sentences.join(' ')}`;
}

const spaced = (name: string): string => name.replaceAll('_', ' ');

function shown(value: ArgumentValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return JSON.stringify(value);
}

/** What a model is asked for the words of a task. */
export const wordingQuestion = (task: CallsTask): string =>
  `Tools of an assistant:\n${JSON.stringify(task.tools)}\n\nCalls that it must make:\n${JSON.stringify(shortForm(task).calls)}\n\n` +
  'Write what a user would say so that it makes exactly these calls, in natural words, without naming the tools. ' +
  'Every value must be in it as it stands, numbers as digits, and no other value. Answer with the request alone.';

/** The task in a model's words; undefined if they do not name what they must, or name more. */
export function applyWording(task: CallsTask, text: string): CallsTask | undefined {
  const content = text.trim();
  if (content === '' || content.length > MAX_CONTENT || !namesArguments(content, task)) return undefined;
  return { ...task, dialogue: [{ role: 'user', content }] };
}

/** Words of a truth value; whole words are looked for. */
const words = {
  true: ['yes', 'true', 'on', 'with', 'enable', 'enabled'],
  false: ['no', 'not', 'false', 'off', 'without', 'disable', 'disabled'],
};

/**
 * Whether a request names the arguments of all calls: texts up to case and punctuation, numbers as digits, truth
 * values by the parameter's name and a word for them; and no number, and no choice of a parameter that is left
 * out, that is in no call.
 */
export function namesArguments(request: string, { tools, calls }: CallsTask): boolean {
  const numbers = numbersIn(request);
  const spoken = spokenIn(request);
  const allowed = new Set<number>();
  for (const call of calls) {
    const tool = tools.find(({ name }) => name === call.name)!;
    const made = referenceArguments(call, tools);
    for (const [parameter, value] of Object.entries(made)) {
      for (const leaf of leaves(value)) {
        if (typeof leaf === 'number') {
          if (!numbers.includes(leaf)) return false;
          allowed.add(leaf);
        } else if (typeof leaf === 'boolean') {
          const named = spaced(parameter)
            .split(' ')
            .every((word) => spoken.words.has(word.toLowerCase()));
          if (!named || !words[`${leaf}`].some((word) => spoken.words.has(word))) return false;
        } else {
          if (leaf === '' || !contains(spoken, leaf)) return false;
          for (const number of numbersIn(leaf)) allowed.add(number);
        }
      }
    }
    if (choicesLeftOut(tool, made).some((choice) => contains(spoken, choice))) return false;
  }
  return numbers.every((number) => allowed.has(number));
}

/** Numbers of a text, as its digits say them. */
const numbersIn = (text: string): number[] =>
  [...text.matchAll(/-?\d{1,30}(?:\.\d{1,30})?/g)].map(([digits]) => Number(digits));

const bare = (text: string): string => text.replace(/[ ,./\-_*^]/g, '').toLowerCase();
const shortWord = /^[a-z]{1,4}$/i;

/**
 * As answers are compared: case, spaces and punctuation do not matter. A short word must stand alone, since longer
 * ones hold it by chance.
 */
function contains({ text, words: own, bareText }: Spoken, part: string): boolean {
  if (shortWord.test(part)) return own.has(part.toLowerCase());
  const barePart = bare(part);
  return barePart === '' ? text.includes(part) : bareText.includes(barePart);
}

/** A request as it is compared: it is read once, however many arguments and choices a model wrote. */
interface Spoken {
  text: string;
  words: ReadonlySet<string>;
  bareText: string;
}

const spokenIn = (text: string): Spoken => ({
  text,
  words: new Set(text.toLowerCase().split(/[^a-z]+/)),
  bareText: bare(text),
});

function leaves(value: ArgumentValue): (string | number | boolean)[] {
  if (typeof value !== 'object') return [value];
  return Object.values(value as Record<string, ArgumentValue>).flatMap(leaves);
}

/** Choices of parameters that a call leaves out: a request that names one asks for more than the call. */
const choicesLeftOut = (tool: CallTool, made: Record<string, ArgumentValue>): string[] =>
  Object.entries(tool.parameters)
    .filter(([name]) => !Object.hasOwn(made, name))
    .flatMap(([, { enum: choices = [] }]: [string, Parameter]) =>
      choices.filter((choice) => typeof choice === 'string'),
    );
