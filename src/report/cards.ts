import { inBand } from '../coevolution/in-band.ts';
import { count, duration, number, percent, rate } from './format.ts';
import { trained } from './run-data.ts';
import type { EpochRow, RunData } from './run-data.ts';
import { RESIDENCE } from './verdict.ts';
import type { Course, Evaluation, Findings } from './verdict.ts';

export interface Card {
  label: string;
  value: string;
  detail: string;
  tone: 'good' | 'warn' | 'plain';
}

/** The run in eight numbers. */
export function cards(run: RunData, { epochs, success, heldOut, difficulty, length }: Findings): Card[] {
  const rows = trained(run.rows);
  const planned = run.experiment?.epochs;
  const rollouts = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/count'] ?? 0), 0);
  const errored = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/errored'] ?? 0), 0);
  const tokens = rows.at(-1)?.metrics.num_tokens ?? null;
  return [
    {
      label: 'Epochs',
      value: String(epochs),
      detail:
        planned === undefined
          ? 'committed'
          : (rows.at(-1)?.epoch ?? 0) >= planned
            ? 'all committed'
            : run.forkedFrom.length > 0
              ? `to epoch ${rows.at(-1)?.epoch ?? run.forkedFrom[0]?.epoch ?? 0} of ${planned}`
              : `of ${planned} committed`,
      tone: 'plain',
    },
    successCard(success),
    residenceCard(success?.residence ?? null),
    heldOutCard(heldOut),
    courseCard('Task difficulty', difficulty),
    courseCard('Response length', length, ' tokens'),
    {
      label: 'Rollouts',
      value: count(rollouts),
      detail: [
        tokens === null ? '' : `${compact(tokens)} tokens`,
        errored > 0 ? `${errored} lost` : 'none lost',
      ]
        .filter((text) => text !== '')
        .join(', '),
      tone: errored > 0 ? 'warn' : 'plain',
    },
    timeCard(rows, run),
  ];
}

function successCard(success: Findings['success']): Card {
  const label = 'Success rate';
  if (success === null) return { label, value: '–', detail: 'not measured', tone: 'plain' };
  const { start, end, residence } = success;
  return {
    label,
    value: arrow(rate(start), rate(end)),
    detail: 'epoch 1 → mean of the last 5',
    tone: residence === null ? 'plain' : inBand(end) ? 'good' : 'warn',
  };
}

function residenceCard(residence: number | null): Card {
  const label = 'In the band';
  if (residence === null)
    return { label, value: '–', detail: 'of the second half: too early', tone: 'plain' };
  return {
    label,
    value: percent(residence),
    detail: 'of the second half’s epochs',
    tone: residence >= RESIDENCE ? 'good' : 'warn',
  };
}

const arrow = (start: string, end: string): string => `${start} → ${end}`;
const compact = (value: number): string => (value < 1e6 ? count(value) : `${number(value / 1e6)} M`);

function heldOutCard(heldOut: Findings['heldOut']): Card {
  const label = 'Held-out success';
  if (heldOut === null) return { label, value: '–', detail: 'not evaluated yet', tone: 'plain' };
  const { first, last } = heldOut;
  if (first.epoch === last.epoch)
    return { label, value: rate(last.value), detail: interval(last), tone: 'plain' };
  const rose = first.high !== null && last.low !== null && last.low > first.high;
  const fell = first.low !== null && last.high !== null && last.high < first.low;
  return {
    label,
    value: arrow(rate(first.value), rate(last.value)),
    detail: `${interval(first)} → ${interval(last)}`,
    tone: rose ? 'good' : fell ? 'warn' : 'plain',
  };
}

const interval = ({ low, high }: Evaluation): string =>
  low === null || high === null ? 'no interval' : `[${rate(low)}, ${rate(high)}]`;

function courseCard(label: string, course: Course | null, unit = ''): Card {
  if (course === null) return { label, value: '–', detail: 'not measured', tone: 'plain' };
  return {
    label,
    value: arrow(number(course.start), number(course.end)),
    detail:
      course.turn === null
        ? `${unit === '' ? '' : 'tokens, '}epoch 1 → mean of the last 5`
        : `by way of ${number(course.turn.value)}${unit} in epoch ${course.turn.epoch}`,
    tone: 'plain',
  };
}

function timeCard(rows: EpochRow[], { events, rows: all }: RunData): Card {
  const seconds = rows.reduce((sum, { time }) => sum + (time.epoch ?? 0), 0);
  const times = [...events.map(({ at }) => at), ...all.map(({ at }) => at ?? '')]
    .map((at) => Date.parse(at))
    .filter(Number.isFinite);
  const elapsed = times.length < 2 ? null : (Math.max(...times) - Math.min(...times)) / 1000;
  return {
    label: 'Wall time',
    value: elapsed === null || elapsed < 1 ? (seconds > 0 ? duration(seconds) : '–') : duration(elapsed),
    detail:
      rows.length > 0 && seconds > 0
        ? `${duration(seconds / rows.length)} an epoch in the mean`
        : 'no times recorded',
    tone: 'plain',
  };
}
