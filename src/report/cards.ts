import { isInBand } from '../coevolution/success-band.ts';
import { mean } from '../numerics/arithmetic.ts';
import { formatCount, formatDuration, formatNumber, formatPercent, formatRate } from './format.ts';
import { heldOutChange, isExact, RESIDENCE } from './findings.ts';
import type { Course, Findings, HeldOutEvaluation } from './findings.ts';
import { measuredValues, series, trainingRows } from './run-data.ts';
import type { EpochRow, RunData } from './run-data.ts';

export interface Card {
  label: string;
  value: string;
  detail: string;
  tone: 'good' | 'warn' | 'plain';
}

/**
 * The run in eight numbers.
 * @param difficultyUnit what the world's number of difficulty counts; without it, that is left out
 */
export function cards(
  run: RunData,
  { epochs, success, heldOut, difficulty, length }: Findings,
  difficultyUnit: string | undefined,
): Card[] {
  const rows = trainingRows(run.rows);
  const rollouts = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/count'] ?? 0), 0);
  const errored = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/errored'] ?? 0), 0);
  const resent = run.rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/retried'] ?? 0), 0);
  const tokens = rows.at(-1)?.metrics.num_tokens ?? null;
  return [
    {
      label: 'Epochs',
      value: String(epochs),
      detail: epochsDetail(run, rows),
      tone: 'plain',
    },
    successCard(success),
    residenceCard(success?.residence ?? null),
    heldOutCard(heldOut),
    ...(difficultyUnit === undefined ? [] : [courseCard(`Task difficulty (${difficultyUnit})`, difficulty)]),
    courseCard('Response length', length, ' tokens'),
    {
      label: 'Rollouts',
      value: formatCount(rollouts),
      detail: [
        tokens === null ? '' : `${compact(tokens)} tokens`,
        roundsText(rows),
        errored > 0 ? `${errored} lost` : 'none lost',
        resent > 0 ? `${formatCount(resent)} requests failed and were sent again` : '',
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
    value: arrow(formatRate(start), formatRate(end)),
    detail: 'epoch 1 → mean of the last 5',
    tone: residence === null ? 'plain' : goodIf(isInBand(end)),
  };
}

function residenceCard(residence: number | null): Card {
  const label = 'In the band';
  if (residence === null)
    return { label, value: '–', detail: 'of the second half: too early', tone: 'plain' };
  return {
    label,
    value: formatPercent(residence),
    detail: 'of the second half of its epochs',
    tone: goodIf(residence >= RESIDENCE),
  };
}

/** How many rounds dynamic sampling took; empty without it. */
function roundsText(rows: readonly EpochRow[]): string {
  const rounds = measuredValues(series(rows, 'rollouts/rounds'));
  const capped = measuredValues(series(rows, 'rollouts/rounds_capped')).filter(
    (isCapped) => isCapped === 1,
  ).length;
  const perEpoch = mean(rounds);
  if (perEpoch === null) return '';
  return `${formatNumber(perEpoch)} rounds an epoch${capped === 0 ? '' : `, ${formatCount(capped)} ended by the cap`}`;
}

const goodIf = (isGood: boolean): Card['tone'] => (isGood ? 'good' : 'warn');
const arrow = (start: string, end: string): string => `${start} → ${end}`;
const compact = (value: number): string =>
  value < 1e6 ? formatCount(value) : `${formatNumber(value / 1e6)} M`;

function heldOutCard(heldOut: Findings['heldOut']): Card {
  const label = 'Held-out success';
  if (heldOut === null) return { label, value: '–', detail: 'not evaluated yet', tone: 'plain' };
  const { first, last } = heldOut;
  if (first.epoch === last.epoch)
    return { label, value: formatRate(last.value), detail: interval(last), tone: 'plain' };
  const change = heldOutChange(first, last);
  return {
    label,
    value: arrow(formatRate(first.value), formatRate(last.value)),
    detail: `${interval(first)} → ${interval(last)}`,
    tone: change === 'rose' || change === 'fell' ? goodIf(change === 'rose') : 'plain',
  };
}

function interval(evaluation: HeldOutEvaluation): string {
  const { low, high } = evaluation;
  if (low === null || high === null) return 'no interval';
  return isExact(evaluation) ? 'exact' : `[${formatRate(low)}, ${formatRate(high)}]`;
}

function courseCard(label: string, course: Course | null, unit = ''): Card {
  if (course === null) return { label, value: '–', detail: 'not measured', tone: 'plain' };
  return {
    label,
    value: arrow(formatNumber(course.start), formatNumber(course.end)),
    detail:
      course.turn === null
        ? `${unit === '' ? '' : 'tokens, '}epoch 1 → mean of the last 5`
        : `by way of ${formatNumber(course.turn.value)}${unit} in epoch ${course.turn.epoch}`,
    tone: 'plain',
  };
}

/** Of any number of values: a call takes only so many. */
const extreme = (values: readonly number[], pick: (a: number, b: number) => number): number =>
  values.reduce((kept, value) => pick(kept, value));

function timeCard(rows: EpochRow[], { events, rows: all }: RunData): Card {
  const seconds = rows.reduce((sum, { time }) => sum + (time.epoch ?? 0), 0);
  const times = [...events.map(({ at }) => at), ...all.map(({ at }) => at ?? '')]
    .map((at) => Date.parse(at))
    .filter(Number.isFinite);
  const elapsed = times.length < 2 ? 0 : (extreme(times, Math.max) - extreme(times, Math.min)) / 1000;
  const duration = elapsed < 1 ? seconds : elapsed;
  return {
    label: 'Wall time',
    value: duration > 0 ? formatDuration(duration) : '–',
    detail:
      rows.length > 0 && seconds > 0
        ? `${formatDuration(seconds / rows.length)} an epoch in the mean`
        : 'no times recorded',
    tone: 'plain',
  };
}

function epochsDetail({ experiment, forkedFrom }: RunData, rows: readonly EpochRow[]): string {
  const planned = experiment?.epochs;
  const last = rows.at(-1)?.epoch;
  if (planned === undefined) return 'committed';
  if ((last ?? 0) >= planned) return 'all committed';
  const parent = forkedFrom[0];
  return parent === undefined ? `of ${planned} committed` : `to epoch ${last ?? parent.epoch} of ${planned}`;
}
