import { bandResidence } from '../coevolution/success-band.ts';
import type { Experiment } from '../config/experiment.ts';
import { mean, range, sum } from '../numerics/arithmetic.ts';
import { findings, WINDOW } from '../report/findings.ts';
import { heldOutOf, measuredValues, referenceAnswersOf, series, trainingRows } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import type { ArmRun } from '../types/comparison-inputs.ts';
import type { Origin } from '../runs/file-schemas.ts';
import { areaUnderCurve, rolloutsToThreshold, scoreAt } from './learning-curve.ts';
import type { CurvePoint } from './learning-curve.ts';

/** The metrics of a run. `better` is the direction that an arm aims for; null if it has none. */
export const runMetrics = {
  area: {
    title: 'held-out success, mean over the run (area under the curve)',
    better: 'higher',
    unit: 'share',
  },
  rolloutsToThreshold: {
    title: 'rollouts to the threshold (at most those compared)',
    better: 'lower',
    unit: 'count',
  },
  finalHeldOut: { title: 'held-out success at the end, at equal rollouts', better: 'higher', unit: 'share' },
  residence: { title: 'in the band, second half (5-epoch means)', better: 'higher', unit: 'share' },
  bandEntry: {
    title: 'epoch in which success entered the band (5-epoch mean)',
    better: null,
    unit: 'count',
  },
  informative: { title: 'informative groups of new tasks (0 < k < n)', better: 'higher', unit: 'share' },
  difficultyStart: { title: 'difficulty, first 5 epochs', better: null, unit: 'number' },
  difficultyEnd: { title: 'difficulty, last 5 epochs', better: null, unit: 'number' },
  lengthStart: { title: 'tokens of correct answers, first 5 epochs', better: null, unit: 'number' },
  lengthEnd: { title: 'tokens of correct answers, last 5 epochs', better: null, unit: 'number' },
  difficultyRise: {
    title: 'difficulty, from entering the band to the last 5 epochs',
    better: null,
    unit: 'change',
  },
  lengthRise: {
    title: 'tokens of correct answers, from entering the band to the last 5 epochs',
    better: null,
    unit: 'change',
  },
  lengthGain: {
    title: 'tokens of correct answers, from the first to the last 5 epochs',
    better: null,
    unit: 'change',
  },
  unsolvedStart: { title: 'tasks never solved (k = 0), first third', better: null, unit: 'share' },
  unsolvedEnd: { title: 'tasks never solved (k = 0), last third', better: null, unit: 'share' },
  solvedStart: { title: 'tasks always solved (k = n), first third', better: null, unit: 'share' },
  solvedEnd: { title: 'tasks always solved (k = n), last third', better: null, unit: 'share' },
  screeningSuccess: {
    title: 'success of the initial agent on its tasks, attempts that chose them',
    better: null,
    unit: 'share',
  },
  binSuccess: {
    title: 'success of the initial agent on its tasks (p̂), fresh attempts',
    better: null,
    unit: 'share',
  },
  logprobGain: {
    title: 'log-probability of right held-out answers, change over the run',
    better: 'higher',
    unit: 'nats',
  },
  answerProbabilityGain: {
    title: 'probability of right held-out answers, change over the run',
    better: 'higher',
    unit: 'change of a share',
  },
  simulatorKlAtCap: {
    title: 'epochs with the KL of the simulator at its cap',
    better: null,
    unit: 'share',
  },
  simulatorKlCapped: {
    title: 'epochs with an update of the simulator in which the cap on its KL acted',
    better: null,
    unit: 'share',
  },
  simulatorStepsShortened: {
    title: 'epochs with an update of the simulator in which the cap on a step acted',
    better: null,
    unit: 'share',
  },
  simulatorStepShare: {
    title: 'share of a step that the cap on a step left',
    better: null,
    unit: 'share',
  },
  agentKlAtCap: { title: 'epochs with the KL of the agent at its cap', better: null, unit: 'share' },
  calibrationStart: { title: '|p̂ − α| of new tasks, first 5 epochs', better: null, unit: 'share' },
  calibrationEnd: { title: '|p̂ − α| of new tasks, last 5 epochs', better: null, unit: 'share' },
  heldOutOverlap: { title: 'written tasks that are held-out ones', better: null, unit: 'share' },
  rollouts: { title: 'rollouts of the agent', better: null, unit: 'count' },
  agentSteps: { title: 'updates of the agent, within the rollouts compared', better: null, unit: 'count' },
  environmentSteps: { title: 'updates of the simulator, within them', better: null, unit: 'count' },
} as const satisfies Record<
  string,
  {
    title: string;
    better: 'higher' | 'lower' | null;
    unit: 'share' | 'change of a share' | 'nats' | 'count' | 'number' | 'change';
  }
>;

export type RunMetricName = keyof typeof runMetrics;
export const runMetricNames = Object.keys(runMetrics) as RunMetricName[];
export type RunMetrics = Record<RunMetricName, number | null>;

/** Terms that all arms are measured by. */
export interface EqualTerms {
  /** Held-out success that rollouts are counted up to. */
  threshold: number;
  /** Rollouts up to which curves are compared: those that every run made. */
  rollouts: number;
}

/**
 * The metrics of one run, over the rollouts that are compared; null if it did not measure one, or never reached it. Of
 * the whole run are its number of rollouts and the changes of the right answers' probability and log-probability.
 */
export function measureRun(run: RunRecord, { threshold, rollouts }: EqualTerms): RunMetrics {
  const curve = heldOutCurve(run);
  const compared = rowsWithin(run.rows, rollouts);
  const rows = trainingRows(compared);
  const values = (name: string): number[] => measuredValues(series(rows, name));
  const total = (name: string): number => sum(values(name));
  const thirds = [
    rows.slice(0, Math.ceil(rows.length / 3)),
    rows.slice(-Math.ceil(rows.length / 3)),
  ] as const;
  const n = run.experiment.agent.rolloutsPerTask;
  const { success } = findings(compared);
  const lengths = values('completions/correct_mean_length');
  const hasDistanceCap = typeof run.experiment.environment.training?.maxKl === 'number';
  const [lengthStart, lengthEnd] = [mean(lengths.slice(0, WINDOW)), mean(lengths.slice(-WINDOW))];
  return {
    area: areaUnderCurve(curve, rollouts),
    rolloutsToThreshold: censoredRolloutsToThreshold(curve, { threshold, rollouts }),
    finalHeldOut: scoreAt(curve, rollouts),
    residence: success?.residence ?? null,
    bandEntry: success?.entry ?? null,
    informative: mean(values('env/effective_group_ratio')),
    difficultyStart: mean(values('env/difficulty').slice(0, WINDOW)),
    difficultyEnd: mean(values('env/difficulty').slice(-WINDOW)),
    lengthStart,
    lengthEnd,
    lengthGain: lengthStart === null || lengthEnd === null ? null : lengthEnd - lengthStart,
    difficultyRise: riseInBand(rows, 'env/difficulty'),
    lengthRise: riseInBand(rows, 'completions/correct_mean_length'),
    unsolvedStart: shareSolved(thirds[0], 0, n),
    unsolvedEnd: shareSolved(thirds[1], 0, n),
    solvedStart: shareSolved(thirds[0], n, n),
    solvedEnd: shareSolved(thirds[1], n, n),
    screeningSuccess: run.rows[0]?.metrics['pool/screening_success_rate'] ?? null,
    binSuccess: run.rows[0]?.metrics['pool/success_rate'] ?? null,
    logprobGain: changeOverRun(run.rows, 'eval/heldout_logprob'),
    answerProbabilityGain: changeOverRun(run.rows, 'eval/heldout_answer_probability'),
    simulatorKlAtCap: shareAtCap(rows, 'env/kl', run.experiment.environment.training?.maxKl),
    // Without a cap on the distance the metric is 0, which says nothing of the cap on a step.
    simulatorKlCapped: hasDistanceCap ? mean(values('env/kl_capped')) : null,
    simulatorStepsShortened: mean(values('env/step_share').map((share) => (share < 1 ? 1 : 0))),
    simulatorStepShare: mean(values('env/step_share')),
    agentKlAtCap: shareAtCap(rows, 'kl', run.experiment.agent.training?.maxKl),
    calibrationStart: mean(values('env/calibration_error').slice(0, WINDOW)),
    calibrationEnd: mean(values('env/calibration_error').slice(-WINDOW)),
    heldOutOverlap: mean(values('env/held_out_overlap')),
    rollouts: sum(measuredValues(series(run.rows, 'rollouts/count'))),
    agentSteps: total('steps'),
    environmentSteps: total('env/steps'),
  };
}

/** The preparation, and the epochs that began before so many rollouts were made. */
export function rowsWithin(rows: readonly EpochRow[], rollouts: number): EpochRow[] {
  let made = 0;
  return rows.filter(({ metrics }) => {
    const before = made;
    made += metrics['rollouts/count'] ?? 0;
    return before === 0 || before < rollouts;
  });
}

/**
 * Rollouts to the threshold, and for a run that does not come to it within those that are compared, these: seeds
 * that are late count as late, and are not left out. Its mean over seeds is the restricted mean up to there, a
 * lower bound of the mean. Null without a curve.
 */
function censoredRolloutsToThreshold(
  curve: readonly CurvePoint[],
  { threshold, rollouts }: EqualTerms,
): number | null {
  if (curve.length === 0) return null;
  return Math.min(rollouts, rolloutsToThreshold(curve, threshold) ?? rollouts);
}

/** Whether a run came to the threshold within the rollouts that are compared. */
export function hasReachedThreshold(run: RunRecord, { threshold, rollouts }: EqualTerms): boolean {
  const reached = rolloutsToThreshold(heldOutCurve(run), threshold);
  return reached !== null && reached <= rollouts;
}

/** Share of its cap from which on a KL counts as at the cap: what goes above it is pulled back. */
export const NEAR_CAP = 0.9;

/** Share of the measured epochs whose KL was at its cap: does it bind? Null without a cap, or without KL. */
function shareAtCap(rows: readonly EpochRow[], name: string, cap: number | null | undefined): number | null {
  const values = measuredValues(series(rows, name));
  if (cap === null || cap === undefined) return null;
  return mean(values.map((value) => (value >= NEAR_CAP * cap ? 1 : 0)));
}

/**
 * Mean of the last epochs minus that of the epochs in which success entered the band; null if it never did,
 * or too late for both.
 */
function riseInBand(rows: readonly EpochRow[], name: string): number | null {
  const { entry } = bandResidence(series(rows, 'env/success_rate'), { window: WINDOW });
  if (entry === null || entry + WINDOW >= rows.length) return null;
  const start = mean(measuredValues(series(rows.slice(entry - WINDOW + 1, entry + 1), name)));
  const end = mean(measuredValues(series(rows.slice(-WINDOW), name)));
  return start === null || end === null ? null : end - start;
}

/** A metric after the last epoch minus the same before the first; null if one of them was not measured. */
function changeOverRun(rows: readonly EpochRow[], name: string): number | null {
  const [start, end] = [rows[0]?.metrics[name] ?? null, rows.at(-1)?.metrics[name] ?? null];
  return start === null || end === null || rows.length < 2 ? null : end - start;
}

/** Share of the tasks, each attempted `n` times, of which `k` attempts succeeded. */
export function shareSolved(rows: readonly EpochRow[], k: number, n: number): number | null {
  const countTasks = (successes: number): number =>
    sum(rows.map(({ metrics }) => metrics[`env/success_rate_hist/${successes}`] ?? 0));
  const all = sum(range(n + 1).map(countTasks));
  return all === 0 ? null : countTasks(k) / all;
}

/** A finished run, from its ledger: without times, so that equal runs give equal records. */
export interface RunRecord extends ArmRun {
  experiment: Experiment;
  rows: EpochRow[];
  /** Hash of the ledger's last line. */
  ledger: string;
  /** Hashes of the policies that it started from. */
  warm: { agent: string; environment: string };
  /** Epochs that ran under settings other than the comparison's. */
  changed: number[];
  origin: Origin;
}

/** The held-out success that curves of a comparison are of, in [0, 1]: without sampling noise if it was measured so. */
export const heldOutScore = (row: Pick<EpochRow, 'metrics'>): number | null =>
  referenceAnswersOf(row) ?? heldOutOf(row);

/**
 * Held-out success against the rollouts made. Rollouts may be below the budget, as invalid tasks get none.
 */
export function heldOutCurve({ rows }: Pick<RunRecord, 'rows'>): CurvePoint[] {
  const scores = new Map<number, number>();
  let made = 0;
  for (const row of rows) {
    made += row.metrics['rollouts/count'] ?? 0;
    const score = heldOutScore(row);
    if (typeof score === 'number') scores.set(made, score);
  }
  return [...scores].map(([rollouts, score]) => ({ rollouts, score }));
}
