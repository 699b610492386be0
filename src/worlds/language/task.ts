import { exactMatch } from '../../coevolution/answer-rewards.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { jsonObjects, parseUntrustedJson } from '../json-tasks/untrusted-json.ts';
import type { ParsedTask, TaskSpec } from '../world.ts';
import { referenceResponse, scoreResponse } from './answers.ts';
import { executedAnswer, listCalls } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import type { LanguageSettings } from './settings.ts';
import { languageTaskSchema } from './task-schema.ts';
import type { LanguageTask, OwnTool, Program, ToolAction } from './task-schema.ts';
import { ExecutionFault } from './tools.ts';

/** The task of a spec, which `parseTask` made. */
export const languageTask = (spec: TaskSpec): LanguageTask => JSON.parse(spec) as LanguageTask;

export const languageSpec = (task: LanguageTask): TaskSpec => canonicalJson(task);

/**
 * Parses the simulator's text into a task in canonical JSON, or returns the reason it is invalid. Claims
 * about difficulty (`latents`) are not part of a task.
 */
export function parseLanguageTask(text: string, settings: LanguageSettings): ParsedTask {
  const json = parseUntrustedJson(text);
  if ('reason' in json) return { valid: false, reason: json.reason };
  const parsed = languageTaskSchema.safeParse(json.value);
  if (!parsed.success) return { valid: false, reason: 'wrong_schema' };
  const task: LanguageTask = { ...parsed.data };
  Reflect.deleteProperty(task, 'latents');
  const reason = findProblem(task, settings);
  if (reason !== undefined) return { valid: false, reason };
  return scoreResponse(task, referenceResponse(task, settings), settings).reward === 1
    ? { valid: true, spec: languageSpec({ ...task, tools: usedTools(task) }) }
    : { valid: false, reason: 'unsolvable' };
}

/** The tools that a program calls, each once; unused tools are not part of the task. */
function usedTools({ evaluation, tools }: LanguageTask): LanguageTask['tools'] {
  return evaluation.kind === 'execution'
    ? [...new Set(listCalls(evaluation.program).map(({ tool }) => tool))].sort()
    : tools;
}

function findProblem(task: LanguageTask, settings: LanguageSettings): string | undefined {
  const { prompt, evaluation, target_action, tools } = task;
  if (!settings.kinds.includes(evaluation.kind)) return 'kind_not_allowed';
  if (prompt.trim() === '') return 'no_prompt';
  if (evaluation.kind !== 'call' && target_action !== undefined) return 'unexpected_action';
  if ((evaluation.kind === 'exact' || evaluation.kind === 'reference') && tools.length > 0)
    return 'unexpected_tools';
  const reason = findLabelProblem(task, settings);
  return reason ?? (leaksAnswer(task, settings) ? 'answer_in_prompt' : undefined);
}

/** Why a task has no correct answer; undefined if it has one. */
function findLabelProblem(task: LanguageTask, settings: LanguageSettings): string | undefined {
  const { evaluation, tools, target_action } = task;
  switch (evaluation.kind) {
    case 'execution': {
      const { program, table } = evaluation;
      if (table?.rows.some(({ length }) => length !== table.columns.length) === true) return 'ragged_table';
      if (listCalls(program).some(({ tool }) => !tools.includes(tool))) return 'unknown_tool';
      return findExecutionProblem(() => executedAnswer(evaluation, settings));
    }
    case 'call':
      if (target_action === undefined) return 'no_answer';
      return findActionProblem(
        target_action,
        tools.filter((tool) => typeof tool !== 'string'),
        tools.length,
      );
    case 'exact':
      return evaluation.answers.some((answer) => answer.trim() === '') ? 'no_answer' : undefined;
    case 'reference':
      return /[\p{L}\p{N}]/u.test(evaluation.answer) ? undefined : 'no_answer';
  }
}

function findActionProblem(
  { name, arguments: args }: ToolAction,
  own: readonly OwnTool[],
  all: number,
): string | undefined {
  // Two tools of one name would make a call ambiguous.
  if (own.length !== all || new Set(own.map((tool) => tool.name)).size !== all) return 'unknown_tool';
  const tool = own.find((candidate) => candidate.name === name);
  if (tool === undefined) return 'unknown_tool';
  const parameters = Object.entries(tool.parameters);
  if (parameters.length === 0 || Object.keys(args).length !== parameters.length) return 'wrong_arguments';
  const typed = parameters.every(
    ([parameter, type]) =>
      Object.hasOwn(args, parameter) &&
      (type === 'integer' ? Number.isSafeInteger(args[parameter]) : typeof args[parameter] === type),
  );
  return typed ? undefined : 'wrong_arguments';
}

function findExecutionProblem(run: () => string): string | undefined {
  try {
    return run() === '' ? 'no_answer' : undefined;
  } catch (error) {
    if (error instanceof ExecutionFault) return error.reason;
    throw error;
  }
}

/**
 * Whether the prompt contains the answer, so that copying would be success. An argument of a program may be
 * its value: max(3, 9) cannot hide 9.
 */
export function leaksAnswer(
  { prompt, evaluation, target_action }: LanguageTask,
  limits: ProgramLimits,
): boolean {
  switch (evaluation.kind) {
    case 'execution': {
      const value = executedAnswer(evaluation, limits);
      return (
        mentions(prompt, value) &&
        !literalArguments(evaluation.program).some(
          (literal) => normalizeWords(literal) === normalizeWords(value),
        )
      );
    }
    case 'call':
      return (
        target_action !== undefined &&
        jsonObjects(prompt).some((object) => matchesAction(object, target_action))
      );
    case 'exact':
      return evaluation.answers.some((answer) => mentions(prompt, answer));
    case 'reference':
      return mentions(prompt, evaluation.answer);
  }
}

const normalizeWords = (text: string): string =>
  (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  ).join(' ');

function mentions(prompt: string, answer: string): boolean {
  const wanted = normalizeWords(answer);
  return wanted === ''
    ? prompt.includes(answer.trim())
    : ` ${normalizeWords(prompt)} `.includes(` ${wanted} `);
}

const literalArguments = (program: Program): string[] =>
  listCalls(program).flatMap(({ arguments: args }) =>
    Object.values(args)
      .filter((argument) => typeof argument !== 'object')
      .map(String),
  );

const matchesAction = (object: unknown, { name, arguments: args }: ToolAction): boolean =>
  typeof object === 'object' &&
  object !== null &&
  (exactMatch(object as never, { name, arguments: args }) === 1 ||
    (Object.keys(args).length > 0 && exactMatch(object as never, args) === 1));
