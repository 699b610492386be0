import { exactMatch } from '../../coevolution/answer-rewards.ts';
import { canonicalJson } from '../../store/canonical-json.ts';
import { jsonObjects, parseUntrustedJson } from '../json-tasks/untrusted-json.ts';
import type { ParsedTask, TaskSpec } from '../world.ts';
import { callsOf, execute } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import type { LanguageSettings } from './settings.ts';
import { languageTaskSchema } from './task-schema.ts';
import type { LanguageTask, OwnTool, Program, ToolAction } from './task-schema.ts';
import { ExecutionFault } from './tools.ts';

/** The task of a spec, which `parseTask` made. */
export const languageTask = (spec: TaskSpec): LanguageTask => JSON.parse(spec) as LanguageTask;

export const languageSpec = (task: LanguageTask): TaskSpec => canonicalJson(task);

/**
 * The simulator's text as a task in canonical JSON, or why it is none. What it claims about difficulty
 * (`latents`) is not part of a task: two that differ in it alone are equal.
 */
export function parseLanguageTask(text: string, settings: LanguageSettings): ParsedTask {
  const json = parseUntrustedJson(text);
  if ('reason' in json) return { valid: false, reason: json.reason };
  const parsed = languageTaskSchema.safeParse(json.value);
  if (!parsed.success) return { valid: false, reason: 'wrong_schema' };
  const task: LanguageTask = { ...parsed.data };
  Reflect.deleteProperty(task, 'latents');
  const reason = wrongWith(task, settings);
  return reason === undefined
    ? { valid: true, spec: languageSpec({ ...task, tools: usedTools(task) }) }
    : { valid: false, reason };
}

/** Those that a program calls, each once: what it names besides makes no other task. */
function usedTools({ evaluation, tools }: LanguageTask): LanguageTask['tools'] {
  return evaluation.kind === 'execution'
    ? [...new Set(callsOf(evaluation.program).map(({ tool }) => tool))].sort()
    : tools;
}

function wrongWith(task: LanguageTask, settings: LanguageSettings): string | undefined {
  const { prompt, evaluation, target_action, tools } = task;
  if (!settings.kinds.includes(evaluation.kind)) return 'kind_not_allowed';
  if (prompt.trim() === '') return 'no_prompt';
  if (evaluation.kind !== 'call' && target_action !== undefined) return 'unexpected_action';
  if ((evaluation.kind === 'exact' || evaluation.kind === 'reference') && tools.length > 0)
    return 'unexpected_tools';
  const reason = labelProblem(task, settings);
  return reason ?? (leaksAnswer(task, settings) ? 'answer_in_prompt' : undefined);
}

/** Why a task has no right answer. */
function labelProblem(task: LanguageTask, settings: LanguageSettings): string | undefined {
  const { evaluation, tools, target_action } = task;
  switch (evaluation.kind) {
    case 'execution': {
      const { program, table } = evaluation;
      if (table?.rows.some(({ length }) => length !== table.columns.length) === true) return 'ragged_table';
      if (callsOf(program).some(({ tool }) => !tools.includes(tool))) return 'unknown_tool';
      return faultOf(() => execute(program, table, settings));
    }
    case 'call':
      if (target_action === undefined) return 'no_answer';
      return actionProblem(
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

function actionProblem(
  { name, arguments: given }: ToolAction,
  own: readonly OwnTool[],
  all: number,
): string | undefined {
  // A name twice would be two tools for one call.
  if (own.length !== all || new Set(own.map((tool) => tool.name)).size !== all) return 'unknown_tool';
  const tool = own.find((one) => one.name === name);
  if (tool === undefined) return 'unknown_tool';
  const parameters = Object.entries(tool.parameters);
  if (parameters.length === 0 || Object.keys(given).length !== parameters.length) return 'wrong_arguments';
  const typed = parameters.every(
    ([parameter, type]) =>
      Object.hasOwn(given, parameter) &&
      (type === 'integer' ? Number.isSafeInteger(given[parameter]) : typeof given[parameter] === type),
  );
  return typed ? undefined : 'wrong_arguments';
}

function faultOf(run: () => unknown): string | undefined {
  try {
    run();
    return undefined;
  } catch (error) {
    if (error instanceof ExecutionFault) return error.reason;
    throw error;
  }
}

/**
 * Whether the prompt says the answer, so that copying would be success. What a program is given may be its
 * value: max(3, 9) cannot hide 9.
 */
export function leaksAnswer(
  { prompt, evaluation, target_action }: LanguageTask,
  limits: ProgramLimits,
): boolean {
  switch (evaluation.kind) {
    case 'execution': {
      const value = String(execute(evaluation.program, evaluation.table, limits));
      return (
        says(prompt, value) &&
        !literals(evaluation.program).some((literal) => words(literal) === words(value))
      );
    }
    case 'call':
      return (
        target_action !== undefined && jsonObjects(prompt).some((object) => isCall(object, target_action))
      );
    case 'exact':
      return evaluation.answers.some((answer) => says(prompt, answer));
    case 'reference':
      return says(prompt, evaluation.answer);
  }
}

const words = (text: string): string =>
  (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  ).join(' ');

function says(prompt: string, answer: string): boolean {
  const wanted = words(answer);
  return wanted === '' ? prompt.includes(answer.trim()) : ` ${words(prompt)} `.includes(` ${wanted} `);
}

const literals = (program: Program): string[] =>
  callsOf(program).flatMap(({ arguments: given }) =>
    Object.values(given)
      .filter((argument) => typeof argument !== 'object')
      .map(String),
  );

const isCall = (object: unknown, { name, arguments: given }: ToolAction): boolean =>
  typeof object === 'object' &&
  object !== null &&
  (exactMatch(object as never, { name, arguments: given }) === 1 ||
    (Object.keys(given).length > 0 && exactMatch(object as never, given) === 1));
