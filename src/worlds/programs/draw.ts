import type { RandomStream } from '../../numerics/random.ts';
import { isHeldOut, parameterTypes, programFault } from './program.ts';
import type { Argument, Part, Program, ProgramCall, ProgramLimits } from './program.ts';
import { allTools, usualTools } from './tools.ts';
import type { Family, Tool } from './tools.ts';
import { drawValue, isAssignable } from './values.ts';
import type { ValueType } from './values.ts';

export interface Wanted {
  calls: number;
  /** Family of the first program's outermost tool; any if left out. */
  family?: Family;
  part?: Part;
  /** Drawn from the programs that base tasks and corpora have none of; false if left out. */
  isHeldOut?: boolean;
}

const MAX_TRIES = 2000;
/** Share of the programs of several calls that are calls side by side. */
const PARALLEL = 0.3;

/**
 * A program with exactly this many calls. Programs that do not fit the limits are drawn again.
 * @throws RangeError if none fits
 */
export function drawProgram(wanted: Wanted, limits: ProgramLimits, random: RandomStream): Program {
  const { calls, family, part = 'usual' } = wanted;
  const isOnSide =
    part !== 'usual' ? () => true : (program: Program) => isHeldOut(program) === (wanted.isHeldOut ?? false);
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const sizes = random.next() < PARALLEL ? split(calls, 1 + random.int(calls), random) : [calls];
    const program = sizes.map((size, index) =>
      drawCall({
        size,
        random,
        maxDepth: limits.maxDepth,
        hasReservedValues: part === 'unseen_values',
        candidates: (index === 0 ? startTools(wanted) : usualTools).filter(
          (tool) => index > 0 || family === undefined || tool.family === family,
        ),
      }),
    );
    if (program.every((call) => call !== undefined) && fits(program, part, limits) && isOnSide(program))
      return program;
  }
  throw new RangeError(`no program of ${calls} calls with a depth of at most ${limits.maxDepth}`);
}

const startTools = ({ part }: Wanted): readonly Tool[] =>
  part === 'unseen_tools' ? allTools.filter(({ isReserved }) => isReserved) : usualTools;

function fits(program: Program, part: Part, limits: ProgramLimits): boolean {
  const fault = programFault(program, limits, part === 'unseen_tools');
  return part === 'unseen_values'
    ? fault === 'held_out_value' && programFault(program, limits, true) === undefined
    : fault === undefined;
}

/** `total` as a sum of `count` positive numbers. */
function split(total: number, count: number, random: RandomStream): number[] {
  const sizes = Array.from({ length: count }, () => 1);
  for (let rest = total - count; rest > 0; rest--) sizes[random.int(count)]! += 1;
  return sizes;
}

interface Draw {
  size: number;
  maxDepth: number;
  candidates: readonly Tool[];
  hasReservedValues: boolean;
  random: RandomStream;
}

/** A call with `size` calls in it; undefined if the tool that was drawn has no room for them. */
function drawCall({ size, candidates, ...rest }: Draw): ProgramCall | undefined {
  const { random, maxDepth, hasReservedValues } = rest;
  if (maxDepth < 1 || candidates.length === 0) return undefined;
  const tool = random.pick(candidates);
  const types = parameterTypes(tool);
  const sizes = types.map(() => 0);
  for (let left = size - 1; left > 0; left--) sizes[random.int(types.length)]! += 1;
  const args = types.map((type, index): Argument | undefined =>
    sizes[index] === 0
      ? drawValue(type, random, hasReservedValues)
      : drawCall({
          ...rest,
          size: sizes[index]!,
          maxDepth: maxDepth - 1,
          candidates: toolsFor(type),
        }),
  );
  return args.every((argument) => argument !== undefined) ? { tool, args } : undefined;
}

/** Tools whose result may be given for a parameter of this type. */
export const toolsFor = (type: ValueType): Tool[] =>
  usualTools.filter(({ result }) => isAssignable(result, type));
