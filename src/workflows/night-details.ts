import type { OpenNight } from '../contracts/nights.ts';

/** The night at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function nightDetails(
  { nightly: { name }, night, id, from, experiment }: OpenNight,
  state: string,
  reason?: string,
): string {
  const start = from === null ? 'fresh' : `epoch ${from.epoch} of ${from.run}`;
  return [
    `**${name}**, night **${night}**: ${state}`,
    '',
    `Experiment ${id}, from ${start} to epoch ${experiment.epochs}.`,
    ...(reason === undefined ? [] : ['', reason]),
  ].join('\n');
}
