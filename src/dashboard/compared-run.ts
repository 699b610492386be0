import { armName } from '../config/arms.ts';
import { sum } from '../numerics/arithmetic.ts';
import { heldOutOf } from '../report/run-data.ts';
import type { EpochRow, RunData } from '../report/run-data.ts';
import { stateOf } from '../report/run-view.ts';
import type { Ancestor } from '../runs/run-overview.ts';
import type { CompareAxis } from './api.ts';
import { fieldsOf } from './setting-fields.ts';

const metrics = {
  heldOut: heldOutOf,
  success: (row: EpochRow) => row.metrics['env/success_rate'] ?? null,
  difficulty: (row: EpochRow) => row.metrics['env/difficulty'] ?? null,
  reward: (row: EpochRow) => row.metrics['env/reward'] ?? null,
};
export type ComparedMetric = keyof typeof metrics;

/** What a run has used by the end of an epoch, and what it had reached there; null if that is not known. */
interface ComparedEpoch {
  used: Record<CompareAxis, number | null> & { epochs: number };
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
  /** What it was forked from, its parent first. */
  forkedFrom: readonly Ancestor[];
  epochs: readonly ComparedEpoch[];
}

/** A run by its own epochs: the rollouts and seconds of a fork begin with its first. */
export function comparedRun(run: RunData): ComparedRun {
  const { runId, experiment, experimentFile, forkedFrom, rows } = run;
  let [rollouts, seconds] = [0, 0];
  return {
    id: runId,
    arm: experiment === null ? '' : armName(experiment.arm),
    state: stateOf(run).text,
    settings: fieldsOf(experiment ?? experimentFile?.experiment),
    forkedFrom,
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

/**
 * A fork with the rollouts and seconds of its ancestors up to the epochs that it was forked at, as its tokens and
 * epochs have them; both null if an ancestor no longer has these epochs.
 * @param ancestors by their own epochs, in the order of `forkedFrom`; undefined for a run that is gone
 */
export function afterAncestors(
  run: ComparedRun,
  ancestors: readonly (ComparedRun | undefined)[],
): ComparedRun {
  const parent = run.forkedFrom[0];
  if (parent === undefined) return run;
  const before = run.forkedFrom.map(({ epoch }, index) =>
    (ancestors[index]?.epochs ?? []).filter(({ used }) => used.epochs <= epoch),
  );
  const isWhole = sum(before.map(({ length }) => length)) === parent.epoch + 1;
  const usedBefore = (axis: 'rollouts' | 'seconds'): number =>
    sum(before.map((epochs) => epochs.at(-1)?.used[axis] ?? 0));
  const [rollouts, seconds] = [usedBefore('rollouts'), usedBefore('seconds')];
  return {
    ...run,
    epochs: run.epochs.map(({ used, reached }) => ({
      used: {
        ...used,
        rollouts: isWhole ? rollouts + (used.rollouts ?? 0) : null,
        seconds: isWhole ? seconds + (used.seconds ?? 0) : null,
      },
      reached,
    })),
  };
}
