/** Measures taken after the runs, which change none of them: they may differ between two calls of one id. */
import { z } from 'zod';
import { show } from '../validation/issue-messages.ts';
import { uncheckedName } from '../validation/limited-fields.ts';

/** Which policies of a comparison's runs to measure, and on how many tasks. */
interface MeasureSettings {
  arms: string[];
  seeds: number[];
  checkpoints: number;
  tasks: number;
}
export type CrossPlaySettings = MeasureSettings & { samples: number };
export type ProbeSettings = MeasureSettings & { attempts: number };

/** Seeds of runs. */
export const seedsSchema = z.array(z.int().min(0).max(999_999_999)).min(1).max(100);

export const crossPlaySchema = z
  .strictObject({
    arms: z.array(uncheckedName).min(1).max(1_000).describe('Arms whose checkpoints meet each other.'),
    seeds: seedsSchema.describe('Seeds of which.'),
    checkpoints: z
      .int()
      .min(2)
      .max(10)
      .default(5)
      .describe('Epochs whose policies meet, evenly spaced, the first and the last among them.'),
    tasks: z.int().min(1).max(1024).default(64).describe('Tasks that each simulator writes for it.'),
    samples: z.int().min(1).max(64).default(4).describe('Attempts of each agent at each task.'),
  })
  .nullable()
  .default(null)
  .describe('Simulators of one epoch against agents of another; null = none.');

export const probesSchema = z
  .strictObject({
    arms: z.array(uncheckedName).min(1).max(1_000).describe('Arms whose agents are probed.'),
    seeds: seedsSchema.describe('Seeds of which.'),
    checkpoints: z
      .int()
      .min(1)
      .max(10)
      .default(1)
      .describe(
        'Epochs whose agents are probed, evenly spaced between the start and the end; 1 = the middle one.',
      ),
    tasks: z.int().min(2).max(1024).default(96).describe('Tasks, chosen to span success rates from 0 to 1.'),
    attempts: z
      .int()
      .min(8)
      .max(4096)
      .default(128)
      .describe('Attempts at each task: the first half says what p is, the second is judged by it.'),
  })
  .nullable()
  .default(null)
  .describe(
    'Theory of the method, measured on agents of the runs: gradient signal and ranking; null = not measured.',
  );

const measures = ['crossPlay', 'probes'] as const;

/** Each is some 25 events of the comparison's history, which Temporal ends at 51,200. */
const MAX_CHECKPOINTS = 500;

/** What a comparison has, and what it measures of that. */
interface MeasuredRuns {
  seeds: number[];
  arms: string[];
  crossPlay: CrossPlaySettings | null;
  probes: ProbeSettings | null;
}

/** Arms and seeds that are unknown or repeated: `<field>: got <value>; allowed: <values>`. */
export function* measureProblems(plan: MeasuredRuns): Generator<string> {
  const { seeds, arms } = plan;
  for (const name of measures) {
    const measure = plan[name];
    if (measure === null) continue;
    const checkpoints = measure.arms.length * measure.seeds.length * measure.checkpoints;
    if (checkpoints > MAX_CHECKPOINTS)
      yield (
        `${name}.checkpoints: got ${measure.checkpoints} of ${measure.arms.length} arms under ` +
        `${measure.seeds.length} seeds; expected at most ${MAX_CHECKPOINTS} in all`
      );
    yield* repeatProblems(`${name}.seeds`, measure.seeds);
    yield* repeatProblems(`${name}.arms`, measure.arms);
    for (const arm of measure.arms)
      if (!arms.includes(arm)) yield `${name}.arms: got ${show(arm)}; allowed: ${arms.join(', ')}`;
    for (const seed of measure.seeds)
      if (!seeds.includes(seed)) yield `${name}.seeds: got ${seed}; allowed: ${seeds.join(', ')}`;
  }
}

export function* repeatProblems(field: string, values: readonly (string | number)[]): Generator<string> {
  const twice = values.find((value, index) => values.indexOf(value) !== index);
  if (twice !== undefined) yield `${field}: got ${show(twice)} twice; expected each once`;
}
