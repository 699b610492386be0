import type { RandomStream } from '../../numerics/random.ts';
import { drawProgram, toolsFor } from './draw.ts';
import { isCall, isHeldOut, listCalls, parameterTypes, programFault, programKey } from './program.ts';
import type { Argument, Program, ProgramCall, ProgramLimits } from './program.ts';
import { usualTools } from './tools.ts';
import type { Tool } from './tools.ts';
import { drawValue, isAssignable } from './values.ts';
import type { ValueType } from './values.ts';

/** How a literal or a call in a program is replaced; `type` is absent for the outermost calls. */
type Change = (argument: Argument, type?: ValueType) => Argument;

function mapArgument(argument: Argument, change: Change, type?: ValueType): Argument {
  if (!isCall(argument)) return change(argument, type);
  const types = parameterTypes(argument.tool);
  const args = argument.args.map((inner, index) => mapArgument(inner, change, types[index]));
  return change({ tool: argument.tool, args }, type);
}

const mapProgram = (program: Program, change: Change): Program =>
  program.map((call) => mapArgument(call, change)).filter((call) => isCall(call));

/** The program with each literal drawn again with this probability. */
export const redrawValues = (program: Program, random: RandomStream, probability = 1): Program =>
  mapProgram(program, (argument, type) =>
    isCall(argument) || random.next() >= probability ? argument : drawValue(type!, random),
  );

/** Tools that may stand in for this one: the same parameters' types, and a result that fits. */
const standIns = (tool: Tool, type: ValueType | undefined): Tool[] =>
  usualTools.filter(
    (candidate) =>
      candidate !== tool &&
      (type === undefined || isAssignable(candidate.result, type)) &&
      parameterTypes(candidate).join() === parameterTypes(tool).join(),
  );

const swapTools = (program: Program, random: RandomStream, probability: number): Program =>
  mapProgram(program, (argument, type) => {
    if (!isCall(argument) || random.next() >= probability) return argument;
    const candidates = standIns(argument.tool, type);
    return candidates.length === 0 ? argument : { ...argument, tool: random.pick(candidates) };
  });

const callWithValues = (tool: Tool, random: RandomStream): ProgramCall => ({
  tool,
  args: parameterTypes(tool).map((type) => drawValue(type, random)),
});

/** The program with `change` made at one place of those where it is possible; itself if there is none. */
function changeOnce(
  program: Program,
  random: RandomStream,
  change: (argument: Argument, type: ValueType) => Argument | undefined,
): Program {
  let places = 0;
  mapProgram(program, (argument, type) => {
    if (type !== undefined && change(argument, type) !== undefined) places += 1;
    return argument;
  });
  if (places === 0) return program;
  let wanted = random.int(places);
  return mapProgram(program, (argument, type) => {
    const changed = type === undefined ? undefined : change(argument, type);
    if (changed === undefined) return argument;
    return wanted-- === 0 ? changed : argument;
  });
}

/** One more call: in place of a literal, or beside the others. */
const grow = (program: Program, random: RandomStream): Program =>
  random.next() < 0.7
    ? changeOnce(program, random, (argument, type) =>
        isCall(argument) ? undefined : callWithValues(random.pick(toolsFor(type)), random),
      )
    : [...program, callWithValues(random.pick(usualTools), random)];

/** One call less: a literal in place of an innermost one, or one of those side by side. */
const shrink = (program: Program, random: RandomStream): Program =>
  program.length > 1 && random.next() < 0.5
    ? program.slice(0, -1)
    : changeOnce(program, random, (argument, type) =>
        isCall(argument) && !argument.args.some(isCall) ? drawValue(type, random) : undefined,
      );

const MAX_TRIES = 50;

/**
 * A variation as the simulator's corpus has them: values and tools changed, sometimes a call more or less;
 * in the easy tail a program of any number of calls up to the seed's.
 */
export function varyProgram(
  seed: Program,
  limits: ProgramLimits,
  easyTail: number,
  random: RandomStream,
): Program {
  if (random.next() < easyTail) {
    const calls = 1 + random.int(listCalls(seed).length);
    return drawProgram({ calls }, limits, random);
  }
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const size = random.next();
    let varied = swapTools(redrawValues(seed, random, 0.7), random, 0.35);
    if (size < 0.2) varied = grow(varied, random);
    else if (size > 0.8) varied = shrink(varied, random);
    const isNew = programKey(varied) !== programKey(seed) && !isHeldOut(varied);
    if (isNew && programFault(varied, limits) === undefined) return varied;
  }
  return drawProgram({ calls: listCalls(seed).length }, limits, random);
}

/** A program that is near this one and asks for something else: a value or a tool is wrong. */
export function mistake(program: Program, random: RandomStream): Program {
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const wrong =
      random.next() < 0.5
        ? swapTools(program, random, 0.4)
        : changeOnce(program, random, (argument, type) =>
            isCall(argument) ? undefined : drawValue(type, random),
          );
    if (programKey(wrong) !== programKey(program)) return wrong;
  }
  return [...program, ...program];
}
