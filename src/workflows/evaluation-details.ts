import type { EvaluationProgress } from '../contracts/evaluations.ts';

/** The evaluation at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function evaluationDetails({
  evaluation,
  status,
  shards,
  answered,
  judged,
  skipped,
}: EvaluationProgress): string {
  return [
    `**${evaluation}**: ${status}, **${answered}** of ${shards} shards answered, ${judged} judged`,
    ...(skipped.length === 0 ? [] : ['', ...skipped.map((name) => `- ${name} is skipped`)]),
  ].join('\n');
}
