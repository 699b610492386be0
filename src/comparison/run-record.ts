import type { LedgerEntry } from '../activities/ledger-entry.ts';
import type { ArmRun } from '../contracts/comparisons.ts';
import type { CurvePoint } from '../coevolution/learning-curve.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { EpochRow } from '../report/run-data.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { LedgerLine } from '../store/ledger.ts';

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

/** Held-out success against the rollouts that were made, which may be fewer than the arm was given: what is no task is not attempted. */
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
