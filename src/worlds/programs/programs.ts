import type { TaskSpec, World } from '../world.ts';
import { classifyFailure, renderAnswer, scoreAnswer, writeAnswer } from './answer.ts';
import { drawProgram } from './draw.ts';
import { programGrammar } from './grammar.ts';
import { parseProgram } from './parse.ts';
import { depthOf, listCalls, listLiterals, partOf, printProgram } from './program.ts';
import type { Program, ProgramLimits } from './program.ts';
import { agentPrompt, digestOf, kindOf, signature, simulatorPrompt } from './prompts.ts';
import { createRequest } from './request.ts';
import type { ProgramsSettings } from './settings.ts';
import { families } from './tools.ts';
import { redrawValues } from './vary.ts';
import { agentCorpus, drawBetween, simulatorCorpus } from './warm-up.ts';

/**
 * Programs: the simulator writes a line of nested and parallel tool calls; code asks for them in English,
 * with tools to choose from; the agent writes the calls. Nothing is evaluated: the calls are the label.
 */
export function createPrograms(settings: ProgramsSettings): World {
  const { format, wrongTools } = settings;
  const requestOf = (program: Program) => createRequest(program, wrongTools);
  return {
    name: 'programs',
    vocabulary: characters,
    taskGrammar: programGrammar(settings),
    baseTasks: (random) =>
      drawDistinct(settings.baseTasks, () =>
        drawProgram({ calls: drawBetween(settings.baseCalls, random) }, settings, random),
      ),
    heldOutTasks: (random) => {
      const [from, to] = settings.heldOutCalls;
      const parts = ['unseen_tools', 'unseen_values'] as const;
      return families.flatMap((family) => [
        ...span(from, to).flatMap((calls) =>
          drawDistinct(settings.heldOutPerCell, () =>
            drawProgram({ calls, family, isHeldOut: true }, settings, random),
          ),
        ),
        ...parts.flatMap((part) =>
          drawDistinct(settings.unseenPerFamily, () =>
            drawProgram({ calls: drawBetween([from, to], random), family, part }, settings, random),
          ),
        ),
      ]);
    },
    taskAt: (difficulty, random) => {
      const calls = Math.max(1, Math.min(settings.maxCalls, Math.round(difficulty)));
      return printProgram(drawProgram({ calls }, settings, random));
    },
    // Of the side that simulators may write of: not the held-out programs, tools and values.
    uniformTask: (random) => {
      const family = random.pick(families);
      const calls = drawBetween(settings.heldOutCalls, random);
      return printProgram(drawProgram({ calls, family }, settings, random));
    },
    environmentPrompt: (history, seedTask) => simulatorPrompt(format, digestOf(history), seedTask),
    parseTask: (text) => {
      const parsed = parseProgram(text, settings);
      return 'program' in parsed
        ? { valid: true, spec: printProgram(parsed.program) }
        : { valid: false, reason: parsed.reason };
    },
    agentPrompt: (spec) => agentPrompt(format, requestOf(programOf(spec))),
    kind: (spec) => kindOf(programOf(spec)),
    signature: (spec) => signature(programOf(spec)),
    difficulty: (spec) => listCalls(programOf(spec)).length,
    difficultyUnit: 'calls',
    latents: (spec) => latents(programOf(spec), wrongTools),
    score: (spec, answer) => scoreAnswer(programOf(spec), answer),
    failure: (spec, answer) => classifyFailure(programOf(spec), answer),
    referenceAnswer: (spec) => writeAnswer(programOf(spec)),
    randomAnswer: (spec, random) => writeAnswer(redrawValues(programOf(spec), random)),
    renderTask: (spec) => {
      const program = programOf(spec);
      const { text, tools } = requestOf(program);
      return { request: text, tools: tools.map(({ name }) => name), calls: writeAnswer(program) };
    },
    renderAnswer,
    warmUpCorpus: (policy, rows, random) =>
      policy === 'agent' ? agentCorpus(settings, rows, random) : simulatorCorpus(settings, rows, random),
  };
}

/** Letters, digits and the marks of programs, answers, requests and frames. */
const characters = [
  ...new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n_-()[]=.,:;\'"<|>'),
];

const span = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** This many different tasks; fewer if the draws hardly give another one. */
function drawDistinct(count: number, draw: () => Program): TaskSpec[] {
  const specs = new Set<TaskSpec>();
  for (let attempt = 0; specs.size < count && attempt < 20 * count; attempt++)
    specs.add(printProgram(draw()));
  return [...specs];
}

const anySize: ProgramLimits = { maxCalls: Infinity, maxDepth: Infinity };

/** The program of a task, held-out ones included. @throws RangeError for a text that is no task */
function programOf(spec: TaskSpec): Program {
  const parsed = parseProgram(spec, anySize, true);
  if ('reason' in parsed) throw new RangeError(`${spec.slice(0, 80)} is no task: ${parsed.reason}`);
  return parsed.program;
}

function latents(program: Program, wrongTools: readonly [number, number]): Record<string, number | string> {
  const calls = listCalls(program);
  const literals = listLiterals(program);
  const needed = new Set(calls.map(({ tool }) => tool));
  const digits = literals.map(({ value }) => (typeof value === 'number' ? String(value).length : 0));
  const { tools, text } = createRequest(program, wrongTools);
  return {
    part: partOf(program),
    family: program[0]!.tool.family,
    calls: calls.length,
    depth: depthOf(program),
    parallel: program.length,
    families: new Set(calls.map(({ tool }) => tool.family)).size,
    wrong_tools: tools.length - needed.size,
    literals: literals.length,
    digits: Math.max(0, ...digits),
    words: text.split(' ').length,
  };
}
