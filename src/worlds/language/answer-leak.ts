import { exactMatch } from '../../coevolution/exact-match.ts';
import { callsOf, execute } from './execute.ts';
import type { ProgramLimits } from './execute.ts';
import { soundJson } from '../written/sound-json.ts';
import type { LanguageTask, Program, ToolAction } from './task-schema.ts';

/** Whether the prompt says the answer, so that copying would be success. What a program is given may be its value: max(3, 9) cannot hide 9. */
export function leaksAnswer({ prompt, evaluation, target_action }: LanguageTask, limits: ProgramLimits): boolean {
  switch (evaluation.kind) {
    case 'execution': {
      const value = String(execute(evaluation.program, evaluation.table, limits));
      return says(prompt, value) && !literals(evaluation.program).some((literal) => words(literal) === words(value));
    }
    case 'call':
      return target_action !== undefined && jsonObjects(prompt).some((object) => isCall(object, target_action));
    case 'exact':
      return evaluation.answers.some((answer) => says(prompt, answer));
    case 'reference':
      return says(prompt, evaluation.answer);
  }
}

const words = (text: string): string => (text.normalize('NFKC').toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(' ');

function says(prompt: string, answer: string): boolean {
  const wanted = words(answer);
  return wanted === '' ? prompt.includes(answer.trim()) : ` ${words(prompt)} `.includes(` ${wanted} `);
}

const literals = (program: Program): string[] => callsOf(program).flatMap(({ arguments: given }) => Object.values(given).filter((argument) => typeof argument !== 'object').map(String));

const isCall = (object: unknown, { name, arguments: given }: ToolAction): boolean =>
  typeof object === 'object' && object !== null && (exactMatch(object as never, { name, arguments: given }) === 1 || (Object.keys(given).length > 0 && exactMatch(object as never, given) === 1));

/** The JSON objects that stand somewhere in a text. */
function jsonObjects(text: string): unknown[] {
  const found: unknown[] = [];
  for (let from = text.indexOf('{'); from !== -1; from = text.indexOf('{', from + 1)) {
    const json = soundJson(text.slice(from, endOfObject(text, from)));
    if ('value' in json) found.push(json.value);
  }
  return found;
}

/** Where the object that begins there ends: one pass, whatever the text. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (quoted && character === '\\') at += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{') depth += 1;
    else if (!quoted && character === '}' && --depth === 0) return at + 1;
  }
  return text.length;
}
