import { literalOrCall, NestedCall, readPythonCalls, writePythonCalls } from '../calls/call-formats.ts';
import type { Call } from '../calls/task-schema.ts';
import type { FailureClass } from '../json-tasks/failure-class.ts';
import type { Verdict } from '../world.ts';
import { isCall, listCalls, programKey } from './program.ts';
import type { Argument, Program, ProgramCall } from './program.ts';
import { tools } from './tools.ts';

/**
 * Answers in BFCL's form: a Python list of calls whose arguments have names, `[multiply(a=add(a=17, b=5),
 * b=9)]`. Positional arguments do not parse, as in BFCL.
 */

const readCalls = (answer: string): Call[] | undefined => readPythonCalls(answer, literalOrCall());

export const writeAnswer = (program: Program): string => writePythonCalls(program.map(toCall));

const toCall = ({ tool, args }: ProgramCall): Call => ({
  name: tool.name,
  arguments: Object.fromEntries(
    Object.keys(tool.parameters).map((name, index): [string, unknown] => {
      const argument = args[index]!;
      return [name, isCall(argument) ? new NestedCall(toCall(argument)) : argument];
    }),
  ),
});

/**
 * The program that a call writes down, its arguments in the order of the tool's parameters; undefined if no
 * tool has this name and these parameters.
 */
function toProgramCall({ name, arguments: args }: Call): ProgramCall | undefined {
  const tool = tools.get(name);
  if (tool === undefined) return undefined;
  const parameters = Object.keys(tool.parameters);
  if (Object.keys(args).length !== parameters.length) return undefined;
  const values = parameters.map((parameter) =>
    Object.hasOwn(args, parameter) ? toArgument(args[parameter]) : undefined,
  );
  return values.every((value) => value !== undefined) ? { tool, args: values } : undefined;
}

function toArgument(value: unknown): Argument | undefined {
  if (value instanceof NestedCall) return toProgramCall(value.call);
  const isValue =
    typeof value === 'number' ||
    typeof value === 'string' ||
    (Array.isArray(value) && value.every((item) => typeof item === 'number'));
  return isValue ? value : undefined;
}

/** Reward 1 for exactly the program's calls, in any order where order means nothing. */
export function scoreAnswer(program: Program, answer: string): Verdict {
  const calls = readCalls(answer);
  if (calls === undefined) return { reward: 0, wellFormed: false };
  const made = calls.map(toProgramCall);
  const isRight = made.every((call) => call !== undefined) && programKey(made) === programKey(program);
  return { reward: isRight ? 1 : 0, wellFormed: true };
}

export type ProgramFailure = FailureClass | 'wrong number of calls';

/** Why an answer is wrong: the first that applies of form, number of calls, tools, arguments. */
export function classifyFailure(program: Program, answer: string): ProgramFailure {
  const calls = readCalls(answer);
  if (calls === undefined) return 'no parse';
  const made = calls.flatMap(nestedNames).sort();
  const expected = listCalls(program)
    .map(({ tool }) => tool.name)
    .sort();
  if (made.length !== expected.length) return 'wrong number of calls';
  return made.join(' ') === expected.join(' ') ? 'wrong argument' : 'wrong tool';
}

const nestedNames = ({ name, arguments: args }: Call): string[] => [
  name,
  ...Object.values(args).flatMap((value) => (value instanceof NestedCall ? nestedNames(value.call) : [])),
];

/** Calls for people to read. */
export function renderAnswer(answer: string): object {
  const calls = readCalls(answer);
  return calls === undefined ? { unparsable: answer } : { calls: calls.map(renderCall) };
}

const renderCall = ({ name, arguments: args }: Call): object => ({
  tool: name,
  args: Object.fromEntries(
    Object.entries(args).map(([parameter, value]): [string, unknown] => [
      parameter,
      value instanceof NestedCall ? renderCall(value.call) : value,
    ]),
  ),
});
