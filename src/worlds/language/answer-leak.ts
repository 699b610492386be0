import { exactMatch } from '../../coevolution/exact-match.ts';
import { callsOf, execute } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import { jsonObjects } from '../written/json-objects.ts';
import type { LanguageTask, Program, ToolAction } from './task-schema.ts';

/** Whether the prompt says the answer, so that copying would be success. What a program is given may be its value: max(3, 9) cannot hide 9. */
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
