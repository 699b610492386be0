import type { ComparisonProgress } from '../contracts/comparisons.ts';

/** The comparison at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function comparisonDetails({
  comparison,
  status,
  runs,
  done,
  running,
  failed,
}: ComparisonProgress): string {
  return [
    `**${comparison}**: ${status}, **${done}** of ${runs} runs done`,
    ...(running.length === 0 ? [] : ['', `Under way: ${running.join(', ')}`]),
    ...(failed.length === 0
      ? []
      : ['', ...failed.map(({ id, reason }) => `- ${id} did not finish: ${reason}`)]),
  ].join('\n');
}
