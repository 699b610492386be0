import { bandResidence } from '../coevolution/diagnostics.ts';
import type { Experiment } from '../config/experiment.ts';
import { mean } from '../numerics/arithmetic.ts';
import { findings, WINDOW } from '../report/findings.ts';
import { measured, series, trained } from '../report/run-data.ts';
import type { EpochRow } from '../report/run-data.ts';
import type { LedgerEntry } from '../runs/ledger-entry.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { ArmRun } from '../types/comparison-types.ts';
import { areaUnderCurve, rolloutsToThreshold, scoreAt } from './learning-curve.ts';
import type { CurvePoint } from './learning-curve.ts';

/** What each run is summed up by. `better` says which way an arm wants it; null where it wants neither. */
export const runMetrics = {
  area: {
    title: 'held-out success, mean over the run (area under the curve)',
    better: 'higher',
    unit: 'share',
  },
  rolloutsToThreshold: { title: 'rollouts to the threshold', better: 'lower', unit: 'count' },
  finalHeldOut: { title: 'held-out success at the end, at equal rollouts', better: 'higher', unit: 'share' },
  residence: { title: 'in the band, second half (5-epoch means)', better: 'higher', unit: 'share' },
  informative: { title: 'informative groups (0 < k < n)', better: 'higher', unit: 'share' },
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
  unsolvedStart: { title: 'tasks never solved (k = 0), first third', better: null, unit: 'share' },
  unsolvedEnd: { title: 'tasks never solved (k = 0), last third', better: null, unit: 'share' },
  solvedStart: { title: 'tasks always solved (k = n), first third', better: null, unit: 'share' },
  solvedEnd: { title: 'tasks always solved (k = n), last third', better: null, unit: 'share' },
  rollouts: { title: 'rollouts of the agent', better: null, unit: 'count' },
  agentSteps: { title: 'updates of the agent', better: null, unit: 'count' },
  environmentSteps: { title: 'updates of the simulator', better: null, unit: 'count' },
} as const satisfies Record<
  string,
  { title: string; better: 'higher' | 'lower' | null; unit: 'share' | 'count' | 'number' | 'change' }
>;

export type RunMetricName = keyof typeof runMetrics;
export const runMetricNames = Object.keys(runMetrics) as RunMetricName[];
export type RunMetrics = Record<RunMetricName, number | null>;

/** What arms are measured by alike. */
export interface EqualTerms {
  /** Held-out success that rollouts are counted up to. */
  threshold: number;
  /** Rollouts up to which curves are compared: those that every run made. */
  rollouts: number;
}

/** The figures of one run; null where it measured nothing of the kind, or never came to it. */
export function measureRun(run: RunRecord, { threshold, rollouts }: EqualTerms): RunMetrics {
  const curve = heldOutCurve(run);
  const rows = trained(run.rows);
  const of = (name: string): number[] => measured(series(rows, name));
  const total = (name: string): number => of(name).reduce((sum, value) => sum + value, 0);
  const thirds = [
    rows.slice(0, Math.ceil(rows.length / 3)),
    rows.slice(-Math.ceil(rows.length / 3)),
  ] as const;
  const n = run.experiment.agent.rolloutsPerTask;
  return {
    area: areaUnderCurve(curve, rollouts),
    rolloutsToThreshold: rolloutsToThreshold(curve, threshold),
    finalHeldOut: scoreAt(curve, rollouts),
    residence: findings(run.rows).success?.residence ?? null,
    informative: mean(of('env/effective_group_ratio')),
    difficultyStart: mean(of('env/difficulty').slice(0, WINDOW)),
    difficultyEnd: mean(of('env/difficulty').slice(-WINDOW)),
    lengthStart: mean(of('completions/correct_mean_length').slice(0, WINDOW)),
    lengthEnd: mean(of('completions/correct_mean_length').slice(-WINDOW)),
    difficultyRise: riseInBand(rows, 'env/difficulty'),
    lengthRise: riseInBand(rows, 'completions/correct_mean_length'),
    unsolvedStart: shareSolved(thirds[0], 0, n),
    unsolvedEnd: shareSolved(thirds[1], 0, n),
    solvedStart: shareSolved(thirds[0], n, n),
    solvedEnd: shareSolved(thirds[1], n, n),
    rollouts: total('rollouts/count'),
    agentSteps: total('steps'),
    environmentSteps: total('env/steps'),
  };
}

/**
 * Mean of the last epochs minus that of the epochs with which success came into the band; null where it never
 * did, or too late for both.
 */
function riseInBand(rows: readonly EpochRow[], name: string): number | null {
  const { entry } = bandResidence(series(rows, 'env/success_rate'), { window: WINDOW });
  if (entry === null || entry + WINDOW >= rows.length) return null;
  const [start, end] = [rows.slice(entry - WINDOW + 1, entry + 1), rows.slice(-WINDOW)].map((of) =>
    mean(measured(series(of, name))),
  );
  return start === null || start === undefined || end === null || end === undefined ? null : end - start;
}

/** Share of the tasks, each attempted `n` times, of which `k` attempts succeeded. */
export function shareSolved(rows: readonly EpochRow[], k: number, n: number): number | null {
  const tasks = (at: number): number =>
    rows.reduce((sum, { metrics }) => sum + (metrics[`env/success_rate_hist/${at}`] ?? 0), 0);
  const all = Array.from({ length: n + 1 }, (_, at) => tasks(at)).reduce((sum, count) => sum + count, 0);
  return all === 0 ? null : tasks(k) / all;
}

/** A finished run as its ledger tells of it: no times, so that equal runs give equal records. */
export interface RunRecord extends ArmRun {
  experiment: Experiment;
  rows: EpochRow[];
  /** Hash of the ledger's last line. */
  ledger: string;
  /** Hashes of the policies that it started from. */
  warm: { agent: string; environment: string };
  /** Epochs that ran under other settings than the comparison's. */
  changed: number[];
}

/** @param lines at least one: the first is the preparation */
export function runRecord(
  run: ArmRun,
  experiment: Experiment,
  lines: readonly LedgerLine<LedgerEntry>[],
): RunRecord {
  const [first, last] = [lines[0]!, lines.at(-1)!];
  const { agent, environment } = first.outputs.state;
  const wanted = hashOf(experiment);
  return {
    ...run,
    experiment,
    rows: lines.map(({ epoch, metrics, notes }) => ({
      epoch,
      metrics,
      notes,
      time: {},
      at: null,
      outputs: {},
    })),
    ledger: hashOf(last),
    warm: {
      agent: agent.checkpoint?.sha256 ?? agent.name,
      environment: environment.checkpoint?.sha256 ?? environment.name,
    },
    changed: lines.filter(({ inputs }) => inputs.experiment.sha256 !== wanted).map(({ epoch }) => epoch),
  };
}

/**
 * Held-out success against the rollouts that were made, which may be fewer than the arm was given: what is no
 * task is not attempted.
 */
export function heldOutCurve({ rows }: Pick<RunRecord, 'rows'>): CurvePoint[] {
  const scores = new Map<number, number>();
  let made = 0;
  for (const { metrics } of rows) {
    made += metrics['rollouts/count'] ?? 0;
    const score = metrics['eval/heldout'];
    if (typeof score === 'number') scores.set(made, score);
  }
  return [...scores].map(([rollouts, score]) => ({ rollouts, score }));
}
