import type { RandomStream } from '../../coevolution/seeds.ts';
import { weekdays } from './dates.ts';
import type { LanguageTask, OwnTool } from './task-schema.ts';
import { library } from './tools.ts';

/** A blind guess of the right shape. For free text it is made of the prompt's own words: a task that these solve is solved by copying. */
export function randomResponse({ prompt, tools, evaluation }: LanguageTask, random: RandomStream): string {
  const words = prompt
    .split(/\s+/)
    .map((word) => word.replace(/^\W+|\W+$/g, ''))
    .filter((word) => word !== '');
  const word = (): string => (words.length === 0 ? 'yes' : random.pick(words));
  switch (evaluation.kind) {
    case 'execution':
      return `Answer: ${guessValue(evaluation, random)}`;
    case 'call': {
      const tool = random.pick(tools.filter((one): one is OwnTool => typeof one !== 'string'));
      const given = Object.fromEntries(
        Object.entries(tool.parameters).map(([name, type]) => [
          name,
          type === 'string' ? word() : type === 'boolean' ? random.int(2) === 0 : random.int(10),
        ]),
      );
      return `<tool_call>${JSON.stringify({ name: tool.name, arguments: given })}</tool_call>`;
    }
    case 'exact':
      return `Answer: ${word()}`;
    case 'reference':
      return `Answer: ${Array.from({ length: 1 + Math.min(20, Math.floor(evaluation.answer.length / 6)) }, word).join(' ')}`;
  }
}

/** By the outermost tool alone: few results can be counts, days of the week or cells of the table. */
function guessValue(
  { program, table }: Extract<LanguageTask['evaluation'], { kind: 'execution' }>,
  random: RandomStream,
): string {
  if (program.tool === 'count') return String(random.int(4));
  if (program.tool === 'weekday') return random.pick(weekdays);
  if (program.tool === 'lookup') return String(random.pick(table!.rows.flatMap(([, ...cells]) => cells)));
  const { result } = library.get(program.tool)!;
  if (result === 'date') return `20${10 + random.int(30)}-0${1 + random.int(9)}-${10 + random.int(19)}`;
  return result === 'integer'
    ? String(random.int(100))
    : Array.from({ length: 5 }, () => random.pick([...'abcde'])).join('');
}
