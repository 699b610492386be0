import { deriveSeed, randomStream } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { hasReservedTool, isCall, listCalls, parameterTypes, printProgram } from './program.ts';
import type { Argument, Program } from './program.ts';
import { allTools, usualTools } from './tools.ts';
import type { Tool } from './tools.ts';
import type { Value, ValueType } from './values.ts';

/**
 * The request in plain English. What the program leaves open (wording, the tools to choose from, their order)
 * follows from a hash of it, so a task has one prompt.
 */
export interface Request {
  tools: readonly Tool[];
  text: string;
}

const months = 'January February March April May June July August September October November December'.split(
  ' ',
);

/** Ways to ask for one thing, and for each further thing. */
export const openings = [
  ['Find {}.', 'Also find {}.'],
  ['Tell me {}.', 'Then tell me {}.'],
  ['I need {}.', 'I also need {}.'],
  ['Work out {}.', 'And work out {}.'],
] as const;

/** The ways to write a literal. */
export function literalPhrases(value: Value, type: ValueType): string[] {
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'string') return [`[${value.join(', ')}]`, value.join(', ')];
  if (type === 'text') return [`"${value}"`];
  if (type === 'item') return [`the ${value}`];
  if (type === 'person') return [value];
  const [year = '', month = '', day = ''] = value.split('-');
  return [value, `${Number(day)} ${months[Number(month) - 1]!} ${year}`];
}

function phrase(argument: Argument, type: ValueType, random: RandomStream): string {
  if (!isCall(argument)) return random.pick(literalPhrases(argument, type));
  const { tool, args } = argument;
  const types = parameterTypes(tool);
  const names = Object.keys(tool.parameters);
  const template = random.pick(tool.phrases);
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const index = names.indexOf(name);
    return phrase(args[index]!, types[index]!, random);
  });
}

/** @param wrongTools fewest and most tools that are listed and not needed */
export function createRequest(program: Program, wrongTools: readonly [number, number]): Request {
  const random = randomStream(deriveSeed('programs', printProgram(program)));
  const [opening, further] = random.pick(openings);
  const sentences = program.map((call, index) =>
    (index === 0 ? opening : further).replace('{}', () => phrase(call, call.tool.result, random)),
  );
  return { text: sentences.join(' '), tools: listTools(program, wrongTools, random) };
}

/** The tools of a program and unneeded, half of them of the same families, in a random order. */
function listTools(
  program: Program,
  [from, to]: readonly [number, number],
  random: RandomStream,
): readonly Tool[] {
  const needed = new Set(listCalls(program).map(({ tool }) => tool));
  // A new tool beside known ones would give itself away: the wrong ones are new too.
  const unneeded = (hasReservedTool(program) ? allTools : usualTools).filter((tool) => !needed.has(tool));
  const families = new Set([...needed].map(({ family }) => family));
  const related = random.shuffle(unneeded.filter(({ family }) => families.has(family)));
  const unrelated = random.shuffle(unneeded.filter(({ family }) => !families.has(family)));
  const wrong = Array.from({ length: from + random.int(to - from + 1) }, () =>
    random.next() < 0.5 || unrelated.length === 0 ? related.pop() : unrelated.pop(),
  ).filter((tool) => tool !== undefined);
  return random.shuffle([...needed, ...wrong]);
}

/** How a tool is shown: `add(a, b)`. */
export const signatureOf = ({ name, parameters }: Tool): string =>
  `${name}(${Object.keys(parameters).join(', ')})`;
