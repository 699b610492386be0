/** What people are told of a model server that is away. */
import type { ModelOutage, OutageReport } from '../types/outage-types.ts';

/** `waiting for http://127.0.0.1:8900/v1: connection refused, 17 tries, since 15:58 UTC` */
export function outageText({ server, reason, tries, since }: ModelOutage, now: Date = new Date()): string {
  const [day, time] = [since.slice(0, 10), since.slice(11, 16)];
  const start = day === now.toISOString().slice(0, 10) ? time : `${day} ${time}`;
  return `waiting for ${server}: ${reason}, ${tries} ${tries === 1 ? 'try' : 'tries'}, since ${start} UTC`;
}

/** Which workflow waits, doing what. */
export const reportText = ({ workflow, phase, outage }: OutageReport): string =>
  `${workflow}: ${phaseText(phase, outage)}`;

/** A phase, and what it waits for. */
export const phaseText = (phase: string, waiting: ModelOutage | null | undefined): string =>
  waiting ? `${phase}; ${outageText(waiting)}` : phase;
