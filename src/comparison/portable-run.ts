import { z } from 'zod';
import { probesSchema } from '../config/comparison-measures.ts';
import type { Experiment } from '../config/experiment.ts';
import { originSchema } from '../runs/file-schemas.ts';
import type { Origin } from '../runs/file-schemas.ts';
import type { LedgerEntry } from '../runs/ledger-entry.ts';
import { withScheduledTarget } from '../runs/settings-in-effect.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { ArmRun } from '../types/comparison-inputs.ts';
import { crossPlayCellSchema } from '../types/comparison-inputs.ts';
import { countSchema, epochSchema, textSchema } from '../types/run-state.ts';
import type { Metrics } from '../types/run-state.ts';
import type { RunRecord } from './run-metrics.ts';

const MAX_EPOCHS = 100_000;
/** Each is read for each epoch: runs have some hundreds. */
const MAX_METRICS = 5_000;
const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hexadecimal digits');
const figure = z.number().nullable();
const shareSchema = z.number().min(0).max(1);

/** Every two tasks of an agent are compared with each other: more than a comparison asks for are no measure. */
const MAX_PROBED_TASKS = probesSchema.unwrap().unwrap().shape.tasks.unwrap().maxValue!;

/** What was measured on a run's policies, with the settings that it was measured by. */
const measuresSchema = {
  crossPlay: z
    .strictObject({
      checkpoints: countSchema,
      tasks: countSchema,
      samples: countSchema,
      cells: z.array(crossPlayCellSchema).max(1_000),
    })
    .optional(),
  probes: z
    .strictObject({
      checkpoints: countSchema,
      tasks: countSchema,
      attempts: countSchema,
      agents: z
        .array(
          z.strictObject({
            epoch: epochSchema,
            /** Attempts at each task: 1 if solved, else 0, in their order. */
            attempts: z
              .array(z.string().regex(/^[01]{1,4096}$/, 'expected digits 0 and 1'))
              .max(MAX_PROBED_TASKS),
            /** Of each task p, ‖(r - p) ∇ log π‖², ‖∇ log π‖² and tokens; null without gradients. */
            signal: z
              .array(z.tuple([shareSchema, z.number().min(0), z.number().min(0), z.number().min(0)]))
              .max(MAX_PROBED_TASKS)
              .nullable(),
          }),
        )
        .max(10),
    })
    .refine(
      ({ checkpoints, tasks, agents }) =>
        agents.length <= checkpoints &&
        agents.every(({ attempts, signal }) => Math.max(attempts.length, signal?.length ?? 0) <= tasks),
      'expected at most as many agents and tasks as its settings say',
    )
    .optional(),
};

/**
 * A finished run as a line of a runs file: what results are made of, and what it is checked by. Where it is not
 * in the home folder, its line stands for it.
 */
export const portableRunSchema = z.strictObject({
  format: z.literal(1),
  arm: textSchema(24),
  seed: z.int().min(0).max(999_999_999),
  /** Hash of its experiment, with the seed. */
  experiment: sha256Schema,
  /** Hash of the last line of its ledger, which chains all lines before. */
  ledger: sha256Schema,
  warm: z.strictObject({ agent: textSchema(1_000), environment: textSchema(1_000) }),
  /** Epochs that ran under settings other than the comparison's. */
  changed: z.array(epochSchema).max(MAX_EPOCHS),
  epochs: z.int().min(1).max(MAX_EPOCHS),
  /** By name: one value for all epochs, the preparation's first, or one for each; null where there is none. */
  metrics: z
    .record(textSchema(1_000), z.union([z.number(), z.array(figure).max(MAX_EPOCHS + 1)]))
    .refine(
      (metrics) => Object.keys(metrics).length <= MAX_METRICS,
      `expected at most ${MAX_METRICS} metrics`,
    ),
  origin: originSchema,
  ...measuresSchema,
});
export type PortableRun = z.infer<typeof portableRunSchema>;

/**
 * @param lines of a finished run's ledger: the first is the preparation
 * @param benchmarks scores on benchmarks, by line; empty if there are none
 */
export function portableRun(
  { arm, seed }: Pick<ArmRun, 'arm' | 'seed'>,
  experiment: Experiment,
  lines: readonly LedgerLine<LedgerEntry>[],
  { origin, benchmarks }: { origin: Origin; benchmarks: readonly Metrics[] },
): PortableRun {
  const [first, last] = [lines[0]!, lines.at(-1)!];
  const { agent, environment } = first.outputs.state;
  const wanted = hashOf(experiment);
  const measured = lines.map(({ metrics }, index): Metrics => ({ ...metrics, ...benchmarks[index] }));
  const names = [...new Set(measured.flatMap((metrics) => Object.keys(metrics)))].sort();
  return {
    format: 1,
    arm,
    seed,
    experiment: wanted,
    ledger: hashOf(last),
    warm: {
      agent: agent.checkpoint?.sha256 ?? agent.name,
      environment: environment.checkpoint?.sha256 ?? environment.name,
    },
    changed: lines.filter((line) => hasChangedSettings(experiment, line)).map(({ epoch }) => epoch),
    epochs: last.epoch,
    metrics: Object.fromEntries(
      names.map((name) => [name, asColumn(measured.map((metrics) => metrics[name] ?? null))]),
    ),
    origin,
  };
}

/** Whether an epoch had other settings than the file has for it, as after a retune. */
const hasChangedSettings = (experiment: Experiment, { epoch, inputs }: LedgerLine<LedgerEntry>): boolean =>
  inputs.experiment.sha256 !== hashOf(withScheduledTarget(experiment, epoch));

/** One value where all epochs have the same, since many metrics never change. */
function asColumn(values: readonly (number | null)[]): number | (number | null)[] {
  const [first] = values;
  return typeof first === 'number' && values.every((value) => value === first) ? first : [...values];
}

/** The run that a line stands for, as the comparison has it. Metrics that an epoch lacks are left out. */
export function runRecordOf(run: PortableRun, { arm, seed, id }: ArmRun, experiment: Experiment): RunRecord {
  const columns = Object.entries(run.metrics);
  const metricsOf = (epoch: number): Metrics =>
    Object.fromEntries(
      columns.flatMap(([name, column]) => {
        const value = typeof column === 'number' ? column : (column[epoch] ?? null);
        return value === null ? [] : [[name, value]];
      }),
    );
  return {
    arm,
    seed,
    id,
    experiment,
    rows: Array.from({ length: run.epochs + 1 }, (_, epoch) => ({
      epoch,
      metrics: metricsOf(epoch),
      notes: [],
      time: {},
      at: null,
      outputs: {},
    })),
    ledger: run.ledger,
    warm: run.warm,
    changed: run.changed,
    origin: run.origin,
  };
}
