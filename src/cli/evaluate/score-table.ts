import type { EvaluationResults } from '../../types/evaluation-types.ts';
import { plainTable } from '../show/table.ts';
import { whole } from '../show/units.ts';

const percent = (share: number): string => (100 * share).toFixed(2);

/** Every figure of an evaluation with its interval, what was skipped and why, and what was cut off. */
export function scoreTable({ suites, aggregates }: EvaluationResults): string {
  const table = plainTable(['score', '%', '95 % interval', 'of', 'note']);
  const ran = suites.flatMap((suite) => (suite.skipped === null ? [suite] : []));
  for (const { name, value, interval, of, note } of [...aggregates, ...ran.flatMap(({ scores }) => scores)]) {
    table.push([
      name,
      percent(value),
      interval === null ? '' : `${percent(interval.low)} to ${percent(interval.high)}`,
      whole(of),
      note ?? '',
    ]);
  }
  const lines = ran.length === 0 ? [] : [table.toString()];
  for (const { name, skipped } of suites) if (skipped !== null) lines.push(`skipped ${name}: ${skipped}`);
  for (const { name, cutOff, tooLong, questions } of ran) {
    if (cutOff > 0) lines.push(`${name}: ${cutOff} of ${questions} answers were cut off at the most tokens`);
    if (tooLong > 0)
      lines.push(
        `${name}: ${tooLong} of ${questions} questions were too long for the policy; they count as wrong`,
      );
  }
  return lines.join('\n');
}
