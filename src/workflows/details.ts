import type { Progress } from '../contracts/progress.ts';

const percent = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);

/** The experiment at a glance, in Markdown, for Temporal's UI and `temporal workflow describe`. */
export function details({
  experiment,
  arm,
  epoch,
  epochs,
  successRate,
  band,
  recentSuccessRates,
  heldOut,
  difficulty,
  epochSeconds,
  status,
  notes,
}: Progress): string {
  const five = recentSuccessRates.slice(-5);
  const mean = five.length === 0 ? null : five.reduce((a, b) => a + b) / five.length;
  const eta = epochSeconds === null ? '–' : `${Math.ceil(((epochs - epoch) * epochSeconds) / 60)} min`;
  return [
    `**${experiment}** (${arm}): ${status}, epoch **${epoch}** of ${epochs}${status === 'running' ? `, about ${eta} to go` : ''}`,
    '',
    '| | |',
    '| --- | --- |',
    `| success rate | ${percent(successRate)} (last 5: ${percent(mean)}; band ${percent(band[0])} to ${percent(band[1])}) |`,
    `| held-out success | ${percent(heldOut)} |`,
    `| task difficulty | ${difficulty === null ? '–' : difficulty.toFixed(2)} |`,
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
  ].join('\n');
}
