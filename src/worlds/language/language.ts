import { cutText } from '../../formats/plain-text.ts';
import type { RandomStream } from '../../numerics/random.ts';
import type { ReadDataFile } from '../../store/data-files.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { repairPrompt, simulatorFormat, voteSolver } from '../json-tasks/prompts.ts';
import { readTasksFile } from '../json-tasks/tasks-file.ts';
import type { OwnTasks } from '../json-tasks/tasks-file.ts';
import type { TaskSpec, World } from '../world.ts';
import {
  classifyFailure,
  comparedTexts,
  finalAnswer,
  randomResponse,
  referenceResponse,
  scoreResponse,
  toolCall,
} from './answers.ts';
import { drawLanguageTask } from './draw-task.ts';
import { listCalls } from './execute.ts';
import { labelVote } from './label-vote.ts';
import { languageOutputSchema } from './output-schema.ts';
import { languageAgentPrompt, languageSimulatorPrompt } from './prompts.ts';
import type { LanguageSettings } from './settings.ts';
import type { LanguageTask } from './task-schema.ts';
import { languageSpec, languageTask, parseLanguageTask } from './task.ts';
import { library } from './tools.ts';

/**
 * Language: tasks in natural language, for any OpenAI-compatible model. Code executes programs of a small
 * library; a vote confirms labels that the simulator wrote.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 * @throws InvalidConfig if the settings name such a file and it was not read
 */
export function createLanguage(settings: LanguageSettings, own?: OwnTasks): World {
  if (settings.tasksFile !== null && own === undefined)
    throw new InvalidConfig(
      `experiment: world.tasksFile: got ${JSON.stringify(settings.tasksFile.path)}; a worker reads it, not this`,
    );
  const drawSpec = (calls: number, random: RandomStream): TaskSpec =>
    languageSpec(drawLanguageTask(calls, random, settings));
  const vote = labelVote(settings);
  return {
    name: 'language',
    vocabulary: [],
    taskSchema: languageOutputSchema(settings),
    solvedFrom: settings.similarity?.solvedFrom ?? settings.similarAt,
    ...(settings.similarity && {
      embedding: {
        model: settings.similarity.model,
        comparedTexts: (spec: TaskSpec, answer: string) => comparedTexts(languageTask(spec), answer),
      },
    }),
    ...(settings.repairs > 0 && {
      repairs: {
        limit: settings.repairs,
        prompt: (context: string, text: string, reason: string) =>
          repairPrompt(simulatorFormat(settings), context, text, reason),
      },
    }),
    ...(vote && {
      vote: {
        ...vote,
        ...voteSolver(settings.vote?.solver, settings.format, (spec, format) =>
          languageAgentPrompt(languageTask(spec), format),
        ),
      },
    }),
    baseTasks: (random) =>
      own
        ? [...own.base]
        : Array.from({ length: settings.baseTasks }, () =>
            drawSpec(drawBetween(settings.baseCalls, random), random),
          ),
    heldOutTasks: (random) =>
      own
        ? [...own.heldOut]
        : span(settings.heldOutCalls).flatMap((calls) =>
            Array.from({ length: settings.heldOutPerCell }, () => drawSpec(calls, random)),
          ),
    taskAt: (difficulty, random) =>
      drawSpec(Math.max(1, Math.min(settings.maxCalls, Math.round(difficulty))), random),
    uniformTask: (random) => drawSpec(drawBetween(settings.heldOutCalls, random), random),
    environmentPrompt: (history, seedTask) => languageSimulatorPrompt(settings, history, seedTask),
    exemplarPrompt: (history, seedTask, exemplars) =>
      languageSimulatorPrompt(settings, history, seedTask, exemplars),
    parseTask: (text) => parseLanguageTask(text, settings),
    agentPrompt: (spec) => languageAgentPrompt(languageTask(spec), settings.format),
    kind: (spec) => taskKind(languageTask(spec)),
    signature: (spec) => taskSignature(languageTask(spec)),
    difficulty: (spec) => taskDifficulty(languageTask(spec)),
    // Of other kinds it counts arguments, tools or words: no two kinds compare, and words say little.
    ...(settings.kinds.every((kind) => kind === 'execution') && { difficultyUnit: 'calls' }),
    latents: (spec) => taskLatents(languageTask(spec)),
    score: (spec, answer, _, similarity) => scoreResponse(languageTask(spec), answer, settings, similarity),
    failure: (spec, answer) => classifyFailure(languageTask(spec), answer),
    referenceAnswer: (spec) => referenceResponse(languageTask(spec), settings),
    randomAnswer: (spec, random) => randomResponse(languageTask(spec), random),
    renderTask: (spec) => languageTask(spec),
    renderAnswer: (answer) => {
      const call = toolCall(answer);
      return call === undefined
        ? { answer: finalAnswer(answer) ?? null, response: answer }
        : (call as object);
    },
    // eslint-disable-next-line require-yield -- models from scratch cannot learn natural language
    *warmUpCorpus() {
      throw new InvalidConfig(
        'experiment: the world "language" has no corpus; its models must be pretrained, without warmUp',
      );
    },
  };
}

const drawBetween = ([from, to]: readonly [number, number], random: RandomStream): number =>
  from + random.int(to - from + 1);
const span = ([from, to]: readonly [number, number]): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Executed tasks by the group of their outermost tool, others by their evaluation. */
const taskKind = ({ evaluation }: LanguageTask): string =>
  evaluation.kind === 'execution'
    ? `execution_${library.get(evaluation.program.tool)!.group}`
    : evaluation.kind;

const wordCount = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/**
 * Calls to be made one after the other; for a call its choices, that is arguments and other tools; else words
 * to read and write, in lines of ten.
 */
function taskDifficulty({ prompt, tools, evaluation, target_action }: LanguageTask): number {
  switch (evaluation.kind) {
    case 'execution':
      return listCalls(evaluation.program).length;
    case 'call':
      return Object.keys(target_action!.arguments).length + tools.length - 1;
    case 'exact':
      return 1 + Math.floor(wordCount(prompt) / 10);
    case 'reference':
      return 1 + Math.floor((wordCount(prompt) + wordCount(evaluation.answer)) / 10);
  }
}

function taskLatents(task: LanguageTask): Record<string, number | string> {
  const { evaluation, tools, prompt } = task;
  const common = { evaluation: evaluation.kind, words: wordCount(prompt), tools: tools.length };
  return evaluation.kind === 'execution'
    ? { ...common, calls: listCalls(evaluation.program).length }
    : common;
}

const SIGNATURE_WORDS = 6;

/** Key shared by near copies: the tools of a program in order, the called tool, or the opening words. */
function taskSignature({ prompt, evaluation, target_action }: LanguageTask): string {
  if (evaluation.kind === 'execution')
    return listCalls(evaluation.program)
      .map(({ tool }) => tool)
      .join(' ');
  if (evaluation.kind === 'call') return `call ${target_action!.name}`;
  const opening = prompt.toLowerCase().split(/\s+/).slice(0, SIGNATURE_WORDS).join(' ');
  return `${evaluation.kind}: ${cutText(opening, 80)}`;
}

/**
 * The tasks of `world.tasksFile`; undefined if there is none.
 * @throws InvalidConfig as `readTasksFile` does
 */
export async function readLanguageTasks(
  settings: LanguageSettings,
  readDataFile: ReadDataFile,
): Promise<OwnTasks | undefined> {
  return settings.tasksFile === null
    ? undefined
    : readTasksFile(settings.tasksFile, readDataFile, {
        parseTask: (text) => parseLanguageTask(text, settings),
        agentPrompt: (spec) => languageAgentPrompt(languageTask(spec), settings.format),
      });
}
