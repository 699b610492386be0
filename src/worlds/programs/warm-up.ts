import type { RandomStream } from '../../numerics/random.ts';
import type { CorpusRow } from '../world.ts';
import { writeAnswer } from './answer.ts';
import { drawProgram } from './draw.ts';
import { printProgram } from './program.ts';
import type { Program, ProgramLimits } from './program.ts';
import { agentPrompt, randomDigest, simulatorPrompt } from './prompts.ts';
import { createRequest } from './request.ts';
import type { ProgramsSettings } from './settings.ts';
import { mistake, varyProgram } from './vary.ts';

/**
 * Supervised corpora for a model that knows English and not this world. Tools and values of the held-out
 * part are in neither. The simulator's history is drawn independently of what it should write, so any meaning
 * that it has later was learnt from rewards.
 */

export const drawBetween = ([from, to]: readonly [number, number], random: RandomStream): number =>
  from + random.int(to - from + 1);

export function* agentCorpus(
  { warmUp, wrongTools, format, ...limits }: ProgramsSettings,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const program = drawProgram({ calls: drawBetween(warmUp.calls, random) }, limits, random);
    const isWrong = random.next() < warmUp.wrongAnswers;
    yield {
      prompt: agentPrompt(format, createRequest(program, wrongTools)),
      completion: writeAnswer(isWrong ? mistake(program, random) : program),
    };
  }
}

export function* simulatorCorpus(
  settings: ProgramsSettings,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  for (let row = 0; row < rows; row++) {
    const seed = drawSeed(settings, settings, random);
    const varied = varyProgram(seed, settings, settings.warmUp.easyTail, random);
    yield {
      prompt: simulatorPrompt(settings.format, randomDigest(random), printProgram(seed)),
      completion: printProgram(varied),
    };
  }
}

/** Mostly as hard as the base tasks, which seed the simulator at first. */
function drawSeed(
  { baseCalls, maxCalls }: ProgramsSettings,
  limits: ProgramLimits,
  random: RandomStream,
): Program {
  const calls = random.next() < 0.3 ? 1 + random.int(maxCalls) : drawBetween(baseCalls, random);
  return drawProgram({ calls }, limits, random);
}
