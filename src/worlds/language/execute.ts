import type { Program, Table } from './task-schema.ts';
import { ExecutionFault, fitsType, isSmall, library } from './tools.ts';
import type { ToolValue } from './tools.ts';

export interface ProgramLimits {
  maxCalls: number;
  maxDepth: number;
}

/**
 * The value of a program: nested calls of library tools, innermost first. Nothing is evaluated as code.
 * @throws ExecutionFault for a program without a value or beyond the limits
 */
export function execute(
  program: Program,
  table: Table | undefined,
  { maxCalls, maxDepth }: ProgramLimits,
): ToolValue {
  let calls = 0;
  const evaluate = ({ tool: name, arguments: args }: Program, depth: number): ToolValue => {
    if (depth > maxDepth) throw new ExecutionFault('too_deep');
    if (++calls > maxCalls) throw new ExecutionFault('too_many_calls');
    const tool = library.get(name);
    if (tool === undefined) throw new ExecutionFault('unknown_tool');
    const parameters = Object.entries(tool.parameters);
    if (Object.keys(args).length !== parameters.length) throw new ExecutionFault('wrong_arguments');
    const values: Record<string, ToolValue> = {};
    for (const [parameter, type] of parameters) {
      const argument = Object.hasOwn(args, parameter) ? args[parameter]! : undefined;
      if (argument === undefined) throw new ExecutionFault('wrong_arguments');
      const value = typeof argument === 'object' ? evaluate(argument, depth + 1) : argument;
      if (!fitsType(value, type)) throw new ExecutionFault('wrong_arguments');
      values[parameter] = value;
    }
    const result = tool.run(values, table);
    if (!isSmall(result)) throw new ExecutionFault('too_large');
    // -0 becomes 0.
    return result === 0 ? 0 : result;
  };
  return evaluate(program, 1);
}

/** The value of a program as an answer gives it: without the spaces around it. @throws ExecutionFault */
export const executedAnswer = (
  { program, table }: { program: Program; table?: Table | undefined },
  limits: ProgramLimits,
): string => String(execute(program, table, limits)).trim();

/** All calls of a program, the outermost first. */
export function listCalls(program: Program): Program[] {
  return [
    program,
    ...Object.values(program.arguments).flatMap((argument) =>
      typeof argument === 'object' ? listCalls(argument) : [],
    ),
  ];
}

/** A program as people and models read it: `add(a=3, b=count(text="abba", part="b"))`. */
export function writeExpression({ tool, arguments: args }: Program): string {
  const parts = Object.entries(args).map(
    ([name, argument]) =>
      `${name}=${typeof argument === 'object' ? writeExpression(argument) : JSON.stringify(argument)}`,
  );
  return `${tool}(${parts.join(', ')})`;
}
