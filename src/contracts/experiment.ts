import { z } from 'zod';
import { difficultySchema, durabilitySchema, evaluationSchema, filterSchema, guardsSchema, historySchema, poolsSchema } from './method-settings.ts';
import { agentSchema, environmentSchema, servingSchema, trainerSchema } from './policy-settings.ts';

/** The experiment file, resolved: presets merged in, every default written out. */

export const armSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('genenv'), preset: z.enum(['paper', 'tuned']).describe('`paper` = the constants as printed; `tuned` = those that work at this scale.') }).describe('The method: both policies adapt to each other.'),
    z.strictObject({ type: z.literal('random') }).describe('The simulator stays frozen: random variations of the seeds.'),
  ])
  .describe('Variant of the method.');

export const worldSchema = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('toolbox'),
      seed: z.int().min(0).default(0).describe('Which hidden maps the tools have.'),
      tools: z.int().min(1).max(12).default(4).describe('Tools, each with its own code.'),
      symbols: z.int().min(2).max(9).default(9).describe('Symbols that arguments are made of.'),
      maxLength: z.int().min(1).max(35).default(24).describe('Longest argument a task may have: headroom for difficulty.'),
      baseTasks: z.int().positive().default(64).describe('Base tasks, which the simulator varies.'),
      baseLengths: z.tuple([z.int().positive(), z.int().positive()]).default([13, 16]).describe('Shortest and longest argument of the base tasks.'),
      heldOutLengths: z.tuple([z.int().positive(), z.int().positive()]).default([1, 16]).describe('Lengths of the held-out grid.'),
      heldOutPerCell: z.int().positive().default(4).describe('Held-out tasks for each tool and length.'),
      warmUp: z
        .strictObject({
          symbolAccuracy: z.number().min(0).max(1).default(0.68).describe('Chance that a symbol’s label is right in the agent’s corpus: success at length L starts near its L-th power.'),
          easyTail: z.number().min(0).max(1).default(0.15).describe('Share of the simulator’s corpus with any length up to the seed’s.'),
        })
        .prefault({})
        .describe('The corpora that from-scratch models are warmed up with.'),
    })
    .describe('Tool calling with hidden codes.'),
  ])
  .describe('The family of tasks.');

export const experimentSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors.'),
    name: z.string().regex(/^[A-Za-z0-9._-]{1,80}$/, 'expected 1 to 80 letters, digits, dots, dashes or underscores').describe('Name of the experiment, the search attribute GenEnvExperiment.'),
    seed: z.int().min(0).describe('Every other seed derives from it.'),
    epochs: z.int().min(1).max(100_000).describe('Epochs of co-evolution.'),
    arm: armSchema,
    world: worldSchema,
    environment: environmentSchema,
    agent: agentSchema,
    difficulty: difficultySchema,
    filter: filterSchema,
    pools: poolsSchema,
    guards: guardsSchema,
    history: historySchema.prefault({}),
    evaluation: evaluationSchema.prefault({}),
    serving: servingSchema.default({ type: 'embedded' }),
    trainer: trainerSchema.prefault({}),
    durability: durabilitySchema.prefault({}),
    startFrom: z
      .strictObject({
        run: z.string().regex(/^[A-Za-z0-9-][A-Za-z0-9._-]{0,79}$/, 'expected the id of a run').describe('Id of the run to start from.'),
        epoch: z.int().min(0).describe('Its committed epoch to start from.'),
      })
      .nullable()
      .default(null)
      .describe('Start from an epoch of another run, whose policies, pools and tasks are shared; null = start fresh.'),
    maxTokens: z.int().positive().nullable().default(null).describe('Stop after the epoch in which this many tokens were sampled; null = no cap.'),
  })
  .describe('An experiment of co-evolution.');

export type Experiment = z.infer<typeof experimentSchema>;
export type WorldSettings = z.infer<typeof worldSchema>;
export type Arm = z.infer<typeof armSchema>;
