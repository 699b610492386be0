import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { show } from '../validation/issue-messages.ts';
import { isObject } from '../validation/json-schema.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { fileJsonSchema, parseFile } from '../validation/parse-file.ts';
import { nonNegativeNumber, schemaField, uncheckedName } from '../validation/limited-fields.ts';
import { MAX_EVALUATED_RUN_ID_LENGTH } from './evaluation.ts';
import type { Experiment } from './experiment.ts';
import { parseExperiment } from './parse-experiment.ts';
import { maxEmbeddedRows } from './serving-checks.ts';

export interface Nightly {
  name: string;
  /** The experiment as one night runs it, but for epochs, seed and start, which follow from the night. */
  experiment: Experiment;
  epochsPerNight: number;
  deadlineMinutes: number | null;
  significance: number;
  evaluation: { samples: number; temperature: number };
}

/** `<name>-night-0001` is the id of a run. */
const NIGHT_SUFFIX = '-night-0001';
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const nameRule = 'expected 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first';

/** The nightly file: what a Temporal schedule gives to the workflow `nightly`. */
export const nightlySchema = z
  .strictObject({
    $schema: schemaField,
    name: z
      .string()
      .regex(namePattern, nameRule)
      .optional()
      .describe(
        'Identity of the curriculum: its record, and its runs `<name>-night-0001` and so on. By default ' +
          'the name of the experiment.',
      ),
    experiment: z
      .record(uncheckedName, z.unknown())
      .describe(
        'The content of an experiment file. Its seed is that of the first night; later ones derive theirs ' +
          'from it. Its `maxTokens` is for each night.',
      ),
    epochsPerNight: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('Epochs of one night; by default the epochs of the experiment.'),
    deadlineMinutes: z
      .number()
      .positive()
      .max(100_000)
      .nullable()
      .default(null)
      .describe('Minutes after which no further epoch of the night begins; null = none.'),
    significance: z
      .number()
      .gt(0)
      .max(0.5)
      .default(0.05)
      .describe(
        'Level of the paired test: the new agent is not promoted if it is worse with a p at or below this.',
      ),
    evaluation: z
      .strictObject({
        samples: z
          .int()
          .positive()
          .max(1024)
          .default(8)
          .describe('Attempts of each agent at each held-out task.'),
        temperature: nonNegativeNumber.default(1).describe('Sampling temperature; 0 = greedy.'),
      })
      .prefault({})
      .describe('How the standing and the new agent are compared.'),
  })
  .describe('A nightly curriculum.');

/** JSON Schema of the file as people write it. */
export const nightlyJsonSchema = (): JsonSchema => fileJsonSchema(nightlySchema);

/**
 * The nightly file as it will run.
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed
 */
export function parseNightly(raw: unknown): Nightly {
  const {
    name,
    experiment: file,
    epochsPerNight,
    deadlineMinutes,
    significance,
    evaluation,
  } = parseFile('nightly', nightlySchema, raw, 'experiments/nightly.json');
  const experiment = parseExperiment(
    epochsPerNight === undefined ? file : { ...file, epochs: (startOf(file) ?? 0) + epochsPerNight },
  );
  const epochs = epochsPerNight ?? experiment.epochs - (experiment.startFrom?.epoch ?? 0);
  if (name === undefined && !namePattern.test(experiment.name))
    throw new InvalidConfig(
      `nightly: name: missing, and the experiment's cannot stand in: got ${show(experiment.name)}; ${nameRule}`,
    );
  const nightly = {
    name: name ?? experiment.name,
    experiment,
    epochsPerNight: epochs,
    deadlineMinutes,
    significance,
    evaluation,
  };
  const problems = [...nightProblems(nightly)].map((problem) => `nightly: ${problem}`);
  if (problems.length > 0) throw new InvalidConfig(problems.join('\n'));
  return nightly;
}

/** What no night could do: `<field>: got <value>; <what is allowed>`. */
function* nightProblems({ name, experiment, epochsPerNight, evaluation }: Nightly): Generator<string> {
  const { startFrom, serving, durability, epochs } = experiment;
  if (epochsPerNight < 1)
    yield (
      `experiment.epochs: got ${epochs}; expected more than experiment.startFrom.epoch ` +
      `(${startFrom?.epoch ?? 0}), since epochs are counted from its parent's start, or give epochsPerNight`
    );
  const maxSamples = Math.floor(maxEmbeddedRows / durability.promptsPerRequest);
  if (serving.type === 'embedded' && evaluation.samples > maxSamples)
    yield (
      `evaluation.samples: got ${evaluation.samples}; expected at most ${maxSamples}, since a request has ` +
      `${durability.promptsPerRequest} prompts (experiment.durability.promptsPerRequest) and the policy ` +
      `server gives ${maxEmbeddedRows} answers to it`
    );
  const maxLength = MAX_EVALUATED_RUN_ID_LENGTH - NIGHT_SUFFIX.length;
  if (experiment.evaluation.benchmarks !== undefined && name.length > maxLength)
    yield (
      `name: got ${show(name)}; expected at most ${maxLength} characters, since the ids of the nights' runs ` +
      'are longer, and those of their evaluations (experiment.evaluation.benchmarks) longer still'
    );
}

const startOf = ({ startFrom }: Record<string, unknown>): number | undefined =>
  isObject(startFrom) && typeof startFrom.epoch === 'number' ? startFrom.epoch : undefined;
