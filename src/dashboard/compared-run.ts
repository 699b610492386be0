import { armName } from '../config/arms.ts';
import { heldOutOf } from '../report/run-data.ts';
import type { EpochRow, RunData } from '../report/run-data.ts';
import { stateOf } from '../report/run-view.ts';
import type { CompareAxis } from './api.ts';
import { fieldsOf } from './setting-fields.ts';

const metrics = {
  heldOut: heldOutOf,
  success: (row: EpochRow) => row.metrics['env/success_rate'] ?? null,
  difficulty: (row: EpochRow) => row.metrics['env/difficulty'] ?? null,
  reward: (row: EpochRow) => row.metrics['env/reward'] ?? null,
};
export type ComparedMetric = keyof typeof metrics;

/** What a run has used by the end of an epoch, and what it had reached there. */
interface ComparedEpoch {
  used: Record<CompareAxis, number | null>;
  reached: Record<ComparedMetric, number | null>;
}

/** What is compared of a run: little, so that many runs are kept in memory. */
export interface ComparedRun {
  id: string;
  /** Empty if its settings cannot be read. */
  arm: string;
  state: string;
  /** Settings by their paths, as JSON. */
  settings: ReadonlyMap<string, string>;
  epochs: readonly ComparedEpoch[];
}

export function comparedRun(run: RunData): ComparedRun {
  const { runId, experiment, experimentFile, rows } = run;
  let [rollouts, seconds] = [0, 0];
  return {
    id: runId,
    arm: experiment === null ? '' : armName(experiment.arm),
    state: stateOf(run).text,
    settings: fieldsOf(experiment ?? experimentFile?.experiment),
    epochs: rows.map((row) => {
      rollouts += row.metrics['rollouts/count'] ?? 0;
      seconds += row.time.epoch ?? 0;
      const tokens = row.epoch === 0 ? 0 : (row.metrics.num_tokens ?? null);
      return {
        used: { rollouts, seconds, tokens, epochs: row.epoch },
        reached: {
          heldOut: metrics.heldOut(row),
          success: metrics.success(row),
          difficulty: metrics.difficulty(row),
          reward: metrics.reward(row),
        },
      };
    }),
  };
}
