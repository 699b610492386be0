import type { Experiment } from '../config/experiment.ts';
import { formatRate } from './format.ts';
import { lastMean } from './findings.ts';
import type { Rule } from './guard-rule.ts';
import { taskRules } from './task-rules.ts';
import { updateRules } from './update-rules.ts';
import { worldRules } from './world-rules.ts';
import { measuredValues } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** One line of the guards' table. `info` has no threshold: it is read, not judged. */
export interface Guard {
  label: string;
  value: string;
  threshold: string;
  state: 'ok' | 'warn' | 'info' | 'missing';
  explanation: string;
  history: (number | null)[];
}

/**
 * Detectors of curricula that look right and teach nothing: a success rate in the band proves little alone.
 * Each is judged by the mean of its last five values, unless its threshold says otherwise.
 */
export function guards(rows: readonly EpochRow[], experiment: Experiment | null): Guard[] {
  return [
    ...taskRules(rows, experiment),
    ...worldRules(rows, experiment),
    ...updateRules(rows, experiment),
  ].map(judge);
}

function judge({ label, history, threshold, isOk, explanation, format = formatRate, judgedBy }: Rule): Guard {
  const values = measuredValues(history);
  const value = judgedBy && values.length > 0 ? judgedBy(values) : lastMean(history);
  const guard = { label, threshold, explanation, history };
  if (value === null) return { ...guard, value: 'not measured', state: 'missing' };
  return { ...guard, value: format(value), state: stateOf(value, isOk) };
}

function stateOf(value: number, isOk: Rule['isOk']): Guard['state'] {
  if (isOk === null) return 'info';
  return isOk(value) ? 'ok' : 'warn';
}
