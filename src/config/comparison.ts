import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { firstProblems, show } from '../validation/issue-messages.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { fileJsonSchema, parseFile } from '../validation/parse-file.ts';
import { uncheckedName, schemaField } from '../validation/limited-fields.ts';
import { comparisonSizeProblem } from './comparison-size.ts';
import {
  crossPlaySchema,
  measureProblems,
  probesSchema,
  repeatProblems,
  seedsSchema,
} from './comparison-measures.ts';
import type { CrossPlaySettings, ProbeSettings } from './comparison-measures.ts';
import { armDifferences } from './equal-terms.ts';
import type { Experiment } from './experiment.ts';
import { merge, parseExperiment } from './parse-experiment.ts';
import { primaryProblems, primarySchema } from './primary-comparisons.ts';
import type { PrimarySettings } from './primary-comparisons.ts';

/** A comparison file as it will run. */
export interface Comparison {
  name: string;
  seeds: number[];
  /** Whether hidden codes and held-out tasks follow the seed; absent = all seeds share them. */
  worlds?: 'by-seed';
  /** Experiments by arm, but for id and seed. */
  arms: Record<string, Experiment>;
  baseline: string;
  /** The comparisons that the question is answered by; absent if none is named. */
  primary?: PrimarySettings[];
  concurrency: number;
  threshold: number;
  /** Rollouts up to which runs are compared; absent = the least total of any run. */
  horizon?: number;
  crossPlay: CrossPlaySettings | null;
  probes: ProbeSettings | null;
}

/** `<comparison>.<arm>.<seed>` is the id of a run, which has 80 characters at most. */
export const comparisonIdPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;
export const comparisonIdRule =
  'expected 1 to 40 letters, digits, dots, dashes or underscores, a letter or digit first';
const armPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,23}$/;
const armRule = 'expected 1 to 24 letters, digits, dashes or underscores, no underscore first';

/** The comparison file: what the workflow `comparison` is started with. */
export const comparisonSchema = z
  .strictObject({
    $schema: schemaField,
    name: z
      .string()
      .regex(comparisonIdPattern, comparisonIdRule)
      .describe('Name of the comparison; its id unless another is given.'),
    seeds: seedsSchema.describe(
      'Seeds that every arm is run under: each arm starts from the same warm policies under a seed.',
    ),
    worlds: z
      .enum(['by-seed'])
      .optional()
      .describe(
        'Each seed has a world of its own, all arms under it the same: `world.seed` (if the world has one) ' +
          'and `evaluation.heldOutSeed` are the seed, and `evaluation.excludeHeldOut` is true unless it is ' +
          'given. Left out = all seeds share codes and held-out tasks.',
      ),
    experiment: z
      .record(uncheckedName, z.unknown())
      .describe(
        'The content of an experiment file, which all arms share. Name and seed come from the comparison.',
      ),
    arms: z
      .record(z.string().regex(armPattern, armRule), z.record(uncheckedName, z.unknown()))
      .describe(
        'What each arm changes in the experiment: objects merge key by key, other values replace; null ' +
          'takes a policy’s training away.',
      ),
    baseline: uncheckedName.describe('Arm that the others are compared with, seed by seed.'),
    primary: primarySchema,
    concurrency: z.int().min(1).max(16).default(2).describe('Runs under way at a time.'),
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe('Held-out success that rollouts are counted up to.'),
    horizon: z
      .int()
      .min(1)
      .max(1_000_000_000)
      .optional()
      .describe(
        'Rollouts of the agent up to which runs are compared, fixed before they are made: no arm’s invalid tasks then ' +
          'shorten what all are compared over. Left out, or if a run has made fewer = the least total of any run.',
      ),
    crossPlay: crossPlaySchema,
    probes: probesSchema,
  })
  .describe('A comparison of arms.');

/** JSON Schema of the file as people write it. */
export const comparisonJsonSchema = (): JsonSchema => fileJsonSchema(comparisonSchema);

/**
 * The comparison file as it will run: every arm a whole experiment, all on the same terms.
 * @throws InvalidConfig naming every wrong field, or the arm and what differs
 */
export function parseComparison(raw: unknown): Comparison {
  const {
    name,
    seeds,
    worlds,
    experiment,
    arms: overrides,
    baseline,
    primary,
    concurrency,
    threshold,
    horizon,
    crossPlay,
    probes,
  } = parseFile('comparison', comparisonSchema, raw, 'experiments/compare-main.json');
  const tooLarge = comparisonSizeProblem(seeds, experiment, overrides);
  if (tooLarge !== undefined) throw invalid([tooLarge]);
  const names = Object.keys(overrides);
  const problems = [
    ...nameProblems({ seeds, arms: names, baseline, crossPlay, probes }),
    ...primaryProblems(primary ?? [], names),
  ];
  if (problems.length > 0) throw invalid(firstProblems(problems));
  const arms = Object.fromEntries(
    Object.entries(overrides).map(([arm, changes]) => [arm, armOf(name, arm, experiment, changes)]),
  );
  const different = [...seedProblems(worlds, arms), ...armDifferences(arms, baseline)];
  if (different.length > 0) throw invalid(firstProblems(different));
  return {
    name,
    seeds,
    ...(worlds && { worlds }),
    arms,
    baseline,
    ...(primary && { primary }),
    concurrency,
    threshold,
    ...(horizon !== undefined && { horizon }),
    crossPlay,
    probes,
  };
}

const invalid = (problems: readonly string[]): InvalidConfig =>
  new InvalidConfig(problems.map((problem) => `comparison: ${problem}`).join('\n'));

/** An arm's experiment, without a seed yet. */
function armOf(
  comparison: string,
  arm: string,
  base: Record<string, unknown>,
  changes: Record<string, unknown>,
): Experiment {
  try {
    return parseExperiment(merge(merge(base, changes), { name: `${comparison}.${arm}`, seed: 0 }));
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error;
    throw invalid(
      error.message.split('\n').map((problem) => `arms.${arm}: ${problem.replace(/^experiment: /, '')}`),
    );
  }
}

type ComparedNames = Pick<Comparison, 'seeds' | 'baseline' | 'crossPlay' | 'probes'> & { arms: string[] };

function* nameProblems(plan: ComparedNames): Generator<string> {
  const { seeds, arms, baseline } = plan;
  if (!arms.includes(baseline)) yield `baseline: got ${show(baseline)}; allowed: ${arms.join(', ')}`;
  yield* repeatProblems('seeds', seeds);
  yield* measureProblems(plan);
}

/** Seeds in the file that the comparison would replace: `arms.<arm>: <field>: got <value>; <expectation>`. */
function* seedProblems(worlds: Comparison['worlds'], arms: Comparison['arms']): Generator<string> {
  if (worlds === undefined) return;
  for (const [arm, { evaluation }] of Object.entries(arms))
    if (evaluation.heldOutSeed !== undefined)
      yield (
        `arms.${arm}: evaluation.heldOutSeed: got ${evaluation.heldOutSeed}; expected none with worlds ` +
        `"${worlds}", which draws them by the seed`
      );
}
