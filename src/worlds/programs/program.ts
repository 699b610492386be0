import { deriveSeed } from '../../numerics/random.ts';
import type { Tool } from './tools.ts';
import { isAssignable, isReservedValue, literalFault } from './values.ts';
import type { Value, ValueType } from './values.ts';

/** A call of a tool; its arguments are literals or calls, in the order of the tool's parameters. */
export interface ProgramCall {
  tool: Tool;
  args: readonly Argument[];
}

export type Argument = Value | ProgramCall;

/** Calls to be made side by side. */
export type Program = readonly ProgramCall[];

export interface ProgramLimits {
  /** Maximum number of calls, nested ones included. */
  maxCalls: number;
  /** Maximum depth of nested calls. */
  maxDepth: number;
}

export const isCall = (argument: Argument): argument is ProgramCall =>
  typeof argument === 'object' && 'tool' in argument;

export const parameterTypes = ({ parameters }: Tool): ValueType[] => Object.values(parameters);

/** All calls, each before its arguments. */
export const listCalls = (calls: readonly Argument[]): ProgramCall[] =>
  calls.flatMap((call) => (isCall(call) ? [call, ...listCalls(call.args)] : []));

export const depthOf = (calls: readonly Argument[]): number =>
  Math.max(0, ...calls.map((call) => (isCall(call) ? 1 + depthOf(call.args) : 0)));

/** The literals of a program, with the types of their parameters. */
export const listLiterals = (program: Program): { value: Value; type: ValueType }[] =>
  listCalls(program).flatMap(({ tool, args }) =>
    args.flatMap((value, index) => (isCall(value) ? [] : [{ value, type: parameterTypes(tool)[index]! }])),
  );

/** The one line of a program: `multiply(add(17, 5), 9); upper("rain")`. */
export const printProgram = (program: Program): string => program.map(printArgument).join('; ');

const printArgument = (argument: Argument): string => {
  if (isCall(argument)) return `${argument.tool.name}(${argument.args.map(printArgument).join(', ')})`;
  if (typeof argument === 'number') return String(argument);
  return typeof argument === 'string' ? `"${argument}"` : `[${argument.join(', ')}]`;
};

/** Equal for calls that ask for the same: the arguments of a commutative tool may swap. */
export function callKey(call: Argument): string {
  if (!isCall(call)) return JSON.stringify(call);
  const args = call.args.map(callKey);
  return `${call.tool.name}(${(call.tool.isCommutative ? args.sort() : args).join(',')})`;
}

/** Equal for programs that ask for the same: calls side by side are in any order. */
export const programKey = (program: Program): string => program.map(callKey).sort().join(';');

const HELD_OUT_SHARE = 1 / 8;

/**
 * Whether a program is in the share of all programs that held-out tasks are drawn from; base tasks and
 * corpora have none of them.
 */
export const isHeldOut = (program: Program): boolean =>
  deriveSeed('programs', 'held-out', programKey(program)) < HELD_OUT_SHARE * 2 ** 48;

/**
 * Why a program is no task, as a word in the metrics; undefined if it is one.
 * @param mayBeReserved whether tools and values of held-out tasks alone are allowed
 */
export function programFault(
  program: Program,
  { maxCalls, maxDepth }: ProgramLimits,
  mayBeReserved = false,
): string | undefined {
  const calls = listCalls(program);
  if (calls.length > maxCalls) return 'too_many_calls';
  if (depthOf(program) > maxDepth) return 'too_deep';
  for (const call of calls) {
    const fault = argumentsFault(call);
    if (fault !== undefined) return fault;
  }
  if (new Set(program.map(callKey)).size < program.length) return 'repeated_call';
  if (mayBeReserved) return undefined;
  if (calls.some(({ tool }) => tool.isReserved)) return 'held_out_tool';
  return hasReservedValue(program) ? 'held_out_value' : undefined;
}

export const hasReservedTool = (program: Program): boolean =>
  listCalls(program).some(({ tool }) => tool.isReserved === true);

export const hasReservedValue = (program: Program): boolean =>
  listLiterals(program).some(({ value, type }) => isReservedValue(value, type));

/** Parts of the held-out tasks: as those of training, with tools or with values that training never has. */
export type Part = 'usual' | 'unseen_tools' | 'unseen_values';

export function partOf(program: Program): Part {
  if (hasReservedTool(program)) return 'unseen_tools';
  return hasReservedValue(program) ? 'unseen_values' : 'usual';
}

function argumentsFault({ tool, args }: ProgramCall): string | undefined {
  const types = parameterTypes(tool);
  if (args.length !== types.length) return 'wrong_arguments';
  for (const [index, argument] of args.entries()) {
    const type = types[index]!;
    if (isCall(argument)) {
      if (!isAssignable(argument.tool.result, type)) return 'wrong_arguments';
    } else {
      const fault = literalFault(argument, type);
      if (fault !== undefined) return fault;
    }
  }
  return undefined;
}
