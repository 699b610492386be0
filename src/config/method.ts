/** Settings of the co-evolution itself: reward of the simulator, filter, pools, history. */
import { z } from 'zod';
import {
  nonNegativeNumber,
  positiveCount,
  positiveNumber,
  unitInterval,
} from '../validation/limited-fields.ts';

export const difficultySchema = z
  .strictObject({
    alpha: unitInterval.describe(
      'Target success rate α of the simulator: its reward is highest if the agent solves this share ' +
        'of its attempts. Paper: 0.5.',
    ),
    alphaSchedule: z
      .array(
        z.strictObject({
          fromEpoch: positiveCount.describe('First epoch of the step.'),
          alpha: unitInterval.describe('Target success rate from that epoch on.'),
        }),
      )
      .min(1)
      .max(1_000)
      .optional()
      .describe(
        'Steps of α by epoch, in their order; `alpha` holds before the first. A retune of `alpha` ends the schedule. ' +
          'Left out = α stays (paper).',
      ),
    beta: positiveNumber.describe('Sharpness β of R_env = exp(-β (p̂ - α)²). Reference release: 2; tuned: 8.'),
    per: z
      .enum(['task', 'batch'])
      .describe('What p̂ is taken over: each task, or the batch of variations of one seed prompt (paper).'),
  })
  .describe('Reward of the environment simulator.');

const appliesTo = z
  .array(z.enum(['agent', 'environment']))
  .min(1)
  .max(1_000)
  .default(['environment'])
  .describe(
    'Whose update the filter holds back. Paper: the environment only; its agent trains on everything.',
  );

export const filterSchema = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('off') }).describe('Keep everything.'),
    z.strictObject({
      type: z.literal('threshold'),
      kMin: unitInterval.describe('Keep while |p̂ - α| <= kMin. Paper: 0.1.'),
      appliesTo,
    }),
    z.strictObject({
      type: z.literal('quantile'),
      keep: z.number().gt(0).max(1).describe('Share of the tasks to keep, those nearest to α.'),
      appliesTo,
    }),
    z.strictObject({
      type: z.literal('topK'),
      k: positiveCount.describe('Number of tasks to keep, those nearest to α.'),
      appliesTo,
    }),
  ])
  .describe('Difficulty filter. What it drops is recorded with its reason.');

export const poolsSchema = z
  .strictObject({
    train: z
      .strictObject({
        mix: z
          .strictObject({
            base: nonNegativeNumber.describe('Weight of the base tasks.'),
            history: nonNegativeNumber.describe('Weight of valid tasks of earlier epochs.'),
            new: positiveNumber.describe("Weight of this epoch's new tasks; all of them are rolled out."),
          })
          .describe(
            'Shares of an epoch’s rollout tasks. Drawn tasks are rolled out afresh; base or history 0 draws none.',
          ),
        capacity: z.int().positive().max(10_000_000).describe('Tasks of history kept (newest first).'),
      })
      .describe('D_train: what the agent trains on.'),
    environment: z
      .strictObject({
        window: positiveCount.nullable().describe('Epochs that a record stays in D_env; null = for ever.'),
        deduplicate: z.boolean().describe('Divide the weight of a task by how often it occurs.'),
        memory: z
          .strictObject({
            minReward: unitInterval.describe(
              'R_env that a record needs to be remembered; at β = 2 all R_env are above 0.6.',
            ),
            perTenth: positiveCount.describe(
              'Records remembered for each tenth of recent success in the simulator’s prompt, newest first.',
            ),
            recordsPerStep: positiveCount.describe(
              'Remembered records in an optimizer step, spread evenly over the tenths.',
            ),
            deduplicate: z
              .boolean()
              .optional()
              .describe(
                'Remember of equal tasks the newest alone, and divide its weight by how often it occurs in D_env. ' +
                  'Left out = false.',
              ),
          })
          .nullable()
          .describe(
            'Older records kept so that the simulator learns what each history asks for; null = none (paper).',
          ),
      })
      .describe('D_env: context -> task, weighted.'),
  })
  .describe('The two pools.');

export const historySchema = z
  .strictObject({
    window: positiveCount
      .default(2)
      .describe('Epochs that the agent history given to the simulator looks back on.'),
    shown: z
      .boolean()
      .optional()
      .describe(
        'Whether the simulator’s prompts have that history; false = they are those of a run’s first epoch, which ' +
          'knows nothing of the agent, and nothing is remembered by it (`pools.environment.memory`). Left out = true.',
      ),
  })
  .describe('What the simulator’s prompt says about the agent.');

export type Difficulty = z.infer<typeof difficultySchema>;
export type FilterSettings = z.infer<typeof filterSchema>;
export type Pools = z.infer<typeof poolsSchema>;
