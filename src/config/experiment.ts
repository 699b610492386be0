import { z } from 'zod';
import type { Band } from '../coevolution/success-band.ts';
import { worldSettings } from '../worlds/settings.ts';
import { nonNegativeCount, schemaField } from '../validation/limited-fields.ts';
import { armSchema } from './arms.ts';
import { difficultySchema, filterSchema, historySchema, poolsSchema } from './method.ts';
import { durabilitySchema } from './durability.ts';
import { guardsSchema } from './guards.ts';
import { evaluationSettingsSchema } from './evaluation-settings.ts';
import { agentSchema, environmentSchema, trainerSchema } from './policies.ts';
import { servingSchema } from './serving.ts';
import { runIdPattern } from './run-id.ts';

/** The largest cap of tokens. */
export const maxTokenCap = 1_000_000_000_000_000;

/** The experiment file, resolved: presets merged in, every default written out. */
export const experimentSchema = z
  .strictObject({
    $schema: schemaField,
    name: z
      .string()
      .regex(/^[A-Za-z0-9._-]{1,80}$/, 'expected 1 to 80 letters, digits, dots, dashes or underscores')
      .describe('Name of the experiment, the search attribute GenEnvExperiment.'),
    seed: z.int().min(0).describe('Every other seed derives from it.'),
    epochs: z.int().min(1).max(100_000).describe('Epochs of co-evolution.'),
    arm: armSchema,
    world: worldSettings,
    environment: environmentSchema,
    agent: agentSchema,
    difficulty: difficultySchema,
    filter: filterSchema,
    pools: poolsSchema,
    guards: guardsSchema,
    history: historySchema.prefault({}),
    evaluation: evaluationSettingsSchema.prefault({}),
    serving: servingSchema.default({ type: 'embedded' }),
    trainer: trainerSchema.prefault({}),
    durability: durabilitySchema.prefault({}),
    startFrom: z
      .strictObject({
        run: z
          .string()
          .regex(runIdPattern, 'expected the id of a run')
          .describe('Id of the run to start from.'),
        epoch: nonNegativeCount.describe('Its committed epoch to start from.'),
      })
      .nullable()
      .default(null)
      .describe(
        'Start from an epoch of another run, whose policies, pools and tasks are shared; null = start fresh.',
      ),
    maxTokens: z
      .int()
      .positive()
      .max(maxTokenCap)
      .nullable()
      .default(null)
      .describe(
        'Stop after the epoch in which this many tokens were sampled, those of a fork’s parents among ' +
          'them; null = no cap.',
      ),
  })
  .describe('An experiment of co-evolution.');

export type Experiment = z.infer<typeof experimentSchema>;

/** Rounds that an epoch samples at most. */
export const maxRounds = ({ agent }: Pick<Experiment, 'agent'>): number =>
  agent.training?.dynamicSampling?.maxRounds ?? 1;

/** What the simulator is told of the agent counts tasks within the band that its prompt names. */
export function historySettings({ history, world }: Experiment): Experiment['history'] & { band?: Band } {
  const band = 'band' in world && Array.isArray(world.band) ? world.band : undefined;
  return band === undefined ? history : { ...history, band: { low: band[0], high: band[1] } };
}

/** Base and earlier tasks that a round of an epoch draws, from the shares of the mix. */
export function replayCount({ environment, pools }: Pick<Experiment, 'environment' | 'pools'>): number {
  const { mix } = pools.train;
  const newTasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return Math.round((newTasks * (mix.base + mix.history)) / mix.new);
}

/** Both policies, each with its field in the file. */
export const rolesOf = ({ agent, environment }: Experiment) =>
  [
    { role: 'agent', policy: agent },
    { role: 'environment', policy: environment },
  ] as const;
