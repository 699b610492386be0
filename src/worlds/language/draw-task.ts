import type { RandomStream } from '../../numerics/random.ts';
import { execute, listCalls } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import type { LanguageTask, Program, Table } from './task-schema.ts';
import { ExecutionFault, library } from './tools.ts';
import type { LibraryTool, ValueType } from './tools.ts';

const [names, colours] = [
  ['ann', 'ben', 'cleo', 'dan', 'eva'],
  ['red', 'green', 'blue', 'white'],
];

const MAX_TRIES = 50;

/** A random task with a program of `calls` calls: the built-in base and held-out tasks. */
export function drawLanguageTask(calls: number, random: RandomStream, limits: ProgramLimits): LanguageTask {
  for (let at = 0; at < MAX_TRIES; at++) {
    const table = drawTable(random);
    const program = drawProgram(random.pick(['integer', 'text', 'date']), calls, random, table);
    if (program === undefined || !hasValue(program, table, limits)) continue;
    const looksUp = listCalls(program).some(({ tool }) => tool === 'lookup');
    return taskFor(program, looksUp ? table : undefined);
  }
  // Sums of small numbers always have a value, and can be nested on both sides.
  return taskFor(drawSum(calls, random), undefined);
}

const taskFor = (program: Program, table: Table | undefined): LanguageTask => ({
  prompt: 'Work out the value of the expression.',
  tools: [...new Set(listCalls(program).map(({ tool }) => tool))].sort(),
  evaluation: { kind: 'execution', program, ...(table && { table }) },
});

/** undefined if no tool of the result type can hold so many calls. */
function drawProgram(
  result: ValueType,
  calls: number,
  random: RandomStream,
  table: Table,
): Program | undefined {
  const fitting = [...library].filter(
    ([name, tool]) =>
      (tool.result === result || (tool.result === 'cell' && result !== 'date')) &&
      (calls === 1 || (name !== 'lookup' && nestable(tool).length > 0)),
  );
  if (fitting.length === 0) return undefined;
  const [name, tool] = random.pick(fitting);
  if (name === 'lookup')
    return {
      tool: name,
      arguments: {
        key: String(random.pick(table.rows)[0]),
        column: result === 'integer' ? 'amount' : 'colour',
      },
    };
  const inner = new Map<string, number>();
  for (let left = calls - 1; left > 0; left--) {
    const parameter = random.pick(nestable(tool));
    inner.set(parameter, (inner.get(parameter) ?? 0) + 1);
  }
  const args: Program['arguments'] = {};
  for (const [parameter, type] of Object.entries(tool.parameters)) {
    const nested = inner.get(parameter) ?? 0;
    const argument =
      nested === 0 ? literal(parameter, type, random) : drawProgram(type, nested, random, table);
    if (argument === undefined) return undefined;
    args[parameter] = argument;
  }
  return { tool: name, arguments: args };
}

/** Parameters that may be a nested call: not parts to find in a text, which would hardly ever occur in it. */
const nestable = ({ parameters }: LibraryTool): string[] =>
  Object.entries(parameters)
    .filter(([name, type]) => type !== 'text' || name === 'text')
    .map(([name]) => name);

function literal(parameter: string, type: ValueType, random: RandomStream): number | string {
  if (type === 'integer') return 2 + random.int(30);
  if (type === 'date') return `20${10 + random.int(30)}-0${1 + random.int(9)}-${10 + random.int(19)}`;
  return word(random, parameter === 'text' ? 4 + random.int(4) : 1);
}

const word = (random: RandomStream, length: number): string =>
  Array.from({ length }, () => random.pick([...'abcde'])).join('');

const drawTable = (random: RandomStream): Table => ({
  columns: ['name', 'colour', 'amount'],
  rows: random
    .shuffle(names)
    .slice(0, 4)
    .map((name) => [name, random.pick(colours), 2 + random.int(30)]),
});

function hasValue(program: Program, table: Table, limits: ProgramLimits): boolean {
  try {
    execute(program, table, limits);
    return true;
  } catch (error) {
    if (error instanceof ExecutionFault) return false;
    throw error;
  }
}

/** As flat as possible, so that it meets no depth limit. */
function drawSum(calls: number, random: RandomStream): Program {
  const leftCalls = Math.floor((calls - 1) / 2);
  const part = (count: number): Program | number =>
    count === 0 ? 2 + random.int(30) : drawSum(count, random);
  return { tool: 'add', arguments: { a: part(leftCalls), b: part(calls - 1 - leftCalls) } };
}

/** One example of each kind, which show the simulator the form. */
export const exampleTasks: readonly LanguageTask[] = [
  {
    prompt: 'A crate holds a dozen jars and three loose ones. How many jars do two such crates hold?',
    tools: ['add', 'multiply'],
    evaluation: {
      kind: 'execution',
      program: { tool: 'multiply', arguments: { a: { tool: 'add', arguments: { a: 12, b: 3 } }, b: 2 } },
    },
  },
  {
    prompt: 'Book a table for four at Luigi’s tonight.',
    tools: [
      {
        name: 'book_table',
        description: 'Reserves a table.',
        parameters: { restaurant: 'string', guests: 'integer' },
      },
      { name: 'cancel_table', description: 'Gives a reservation up.', parameters: { restaurant: 'string' } },
    ],
    evaluation: { kind: 'call' },
    target_action: { name: 'book_table', arguments: { restaurant: 'Luigi’s', guests: 4 } },
  },
  {
    prompt: 'Which planet is nearest to the Sun?',
    tools: [],
    evaluation: { kind: 'exact', answers: ['Mercury'] },
  },
  {
    prompt: 'Why does ice float on water?',
    tools: [],
    evaluation: { kind: 'reference', answer: 'Ice is less dense than liquid water.' },
  },
];
