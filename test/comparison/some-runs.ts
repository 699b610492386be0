import type { RunRecord } from '../../src/comparison/run-metrics.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import type { Comparison } from '../../src/config/comparison.ts';
import type { Metrics } from '../../src/types/run-state.ts';
import { tinyComparison } from '../../test-support/tiny-comparison.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** Two arms of 12 epochs, evaluated every 4. */
export const comparison = (seeds: number[] = [1, 2, 3]): Comparison =>
  parseComparison(
    tinyComparison({ seeds, experiment: tinyExperiment({ epochs: 12, evaluation: { every: 4 } }) }),
  );

/**
 * What an arm's runs measure: held-out success at the four evaluations, and the tasks' own metrics in each
 * epoch.
 */
export interface Course {
  heldOut: (seed: number) => [number, number, number, number];
  success: (epoch: number) => number;
  metrics?: (epoch: number) => Metrics;
  /** Rollouts that an epoch made; all that it is given, 64, unless it says otherwise. */
  rollouts?: number;
}

export const runs = (comparison: Comparison, courses: Record<string, Course>): RunRecord[] =>
  comparison.seeds.flatMap((seed) =>
    Object.entries(courses).map(
      ([arm, { heldOut, success, metrics = () => ({}), rollouts = 64 }]): RunRecord => ({
        arm,
        seed,
        id: `${comparison.name}.${arm}.${seed}`,
        experiment: { ...comparison.arms[arm]!, seed },
        ledger: `${arm}${seed}`.padEnd(64, '0'),
        warm: { agent: `agent-${seed}`, environment: `environment-${seed}` },
        changed: [],
        origin: { home: '00000000', machine: 'linux x64, some processor' },
        rows: Array.from({ length: 13 }, (_, epoch) => ({
          epoch,
          notes: [],
          time: {},
          at: null,
          outputs: {},
          metrics: {
            ...(epoch % 4 === 0 ? { 'eval/heldout': heldOut(seed)[epoch / 4]! } : {}),
            ...(epoch === 0
              ? {}
              : {
                  'env/success_rate': success(epoch),
                  'rollouts/count': rollouts,
                  steps: 2,
                  ...metrics(epoch),
                }),
          },
        })),
      }),
    ),
  );
