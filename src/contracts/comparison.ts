import { z } from 'zod';
import { armDifferences } from './arm-differences.ts';
import {
  crossPlaySchema,
  measureProblems,
  probesSchema,
  repeated,
  seedsSchema,
} from './comparison-measures.ts';
import type { Comparison } from './comparisons.ts';
import { show } from './describe-issue.ts';
import type { Experiment } from './experiment.ts';
import { InvalidConfig } from './invalid-config.ts';
import type { JsonSchema } from './json-schema.ts';
import { fileJsonSchema, parseFile } from './parse-file.ts';
import { merge, parseExperiment } from './parse-experiment.ts';

/** `<comparison>.<arm>.<seed>` is the id of a run, which has 80 characters at most. */
export const comparisonIdPattern = /^[A-Za-z0-9-][A-Za-z0-9._-]{0,39}$/;
export const comparisonIdRule =
  'expected 1 to 40 letters, digits, dots, dashes or underscores, no dot or underscore first';
const armPattern = /^[A-Za-z0-9-][A-Za-z0-9_-]{0,23}$/;
const armRule = 'expected 1 to 24 letters, digits, dashes or underscores, no underscore first';

/** The comparison file: what the workflow `comparison` is started with. */
export const comparisonSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors.'),
    name: z
      .string()
      .regex(comparisonIdPattern, comparisonIdRule)
      .describe('Name of the comparison; its id unless another is given.'),
    seeds: seedsSchema.describe(
      'Seeds that every arm is run under: each arm starts from the same warm policies under a seed.',
    ),
    experiment: z
      .record(z.string(), z.unknown())
      .describe(
        'The content of an experiment file, which all arms share. Name and seed come from the comparison.',
      ),
    arms: z
      .record(z.string().regex(armPattern, armRule), z.record(z.string(), z.unknown()))
      .describe(
        'What each arm changes in the experiment: objects merge key by key, other values replace; null takes a policy’s training away.',
      ),
    baseline: z.string().describe('Arm that the others are compared with, seed by seed.'),
    concurrency: z.int().min(1).max(16).default(2).describe('Runs under way at a time.'),
    threshold: z
      .number()
      .gt(0)
      .max(1)
      .default(0.5)
      .describe('Held-out success that rollouts are counted up to.'),
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
    experiment,
    arms: overrides,
    baseline,
    concurrency,
    threshold,
    crossPlay,
    probes,
  } = parseFile('comparison', comparisonSchema, raw, 'experiments/compare-laptop.json');
  const problems = [...namesOf({ seeds, arms: Object.keys(overrides), baseline, crossPlay, probes })];
  if (problems.length > 0) throw invalid(problems);
  const arms = Object.fromEntries(
    Object.entries(overrides).map(([arm, changes]) => [arm, armOf(name, arm, experiment, changes)]),
  );
  const different = armDifferences(arms, baseline);
  if (different.length > 0) throw invalid(different);
  return { name, seeds, arms, baseline, concurrency, threshold, crossPlay, probes };
}

const invalid = (problems: readonly string[]): InvalidConfig =>
  new InvalidConfig(problems.map((problem) => `comparison: ${problem}`).join('\n'));

/** An arm's experiment under no seed yet. */
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

function* namesOf(
  of: Pick<Comparison, 'seeds' | 'baseline' | 'crossPlay' | 'probes'> & { arms: string[] },
): Generator<string> {
  const { seeds, arms, baseline } = of;
  if (arms.length === 0) yield 'arms: got {}; expected at least one arm';
  if (arms.length * seeds.length > 200)
    yield `seeds: got ${seeds.length} for ${arms.length} arms; expected at most 200 runs`;
  if (!arms.includes(baseline)) yield `baseline: got ${show(baseline)}; allowed: ${arms.join(', ')}`;
  yield* repeated('seeds', seeds);
  yield* measureProblems(of);
}
