import { z } from 'zod';
import { positiveCount, unitInterval } from '../validation/limited-fields.ts';

export const guardsSchema = z
  .strictObject({
    discrimination: z
      .boolean()
      .describe(
        'Reward a task that the agent solves only if it beats a random policy there (catches coin-flip tasks).',
      ),
    familyCap: unitInterval
      .nullable()
      .describe('Largest share of the regression weight that one kind of task may hold; null = no cap.'),
    randomAttempts: z.int().min(1).max(64).default(8).describe('Attempts of the random policy at each task.'),
    randomSuccess: unitInterval
      .nullable()
      .optional()
      .describe(
        'Largest share of the random policy’s attempts that may solve a task: above it the task gets no ' +
          'weight. null = not looked at.',
      ),
    verdictAgreement: z
      .boolean()
      .optional()
      .describe('Train neither policy on a task where two verdicts on one answer differ. Left out = false.'),
    clusterDistance: unitInterval
      .nullable()
      .optional()
      .describe(
        'Normalised edit distance up to which an epoch’s tasks are near copies, which weigh as one task ' +
          'together. Left out or null = only exact copies are.',
      ),
    flatRewards: unitInterval
      .nullable()
      .optional()
      .describe(
        'Smallest span of R_env over an epoch’s records with which the simulator is updated, where no filter ' +
          'has chosen those near α. null = always.',
      ),
    starvedAfter: positiveCount
      .nullable()
      .optional()
      .describe(
        'Epochs without anything for the simulator to learn from after which it is helped, until there ' +
          'is: its filter keeps the quarter nearest to α, and at least half of the prompts go to the ' +
          'initial simulator. null = never.',
      ),
    gateAgent: z
      .strictObject({
        every: positiveCount.default(5).describe('Epochs between two looks; after the last epoch too.'),
        tasks: positiveCount
          .default(128)
          .describe(
            'Maximum number of tasks in the anchor set; one rollout each, outside the rollout budget.',
          ),
        drop: unitInterval
          .default(0.02)
          .describe('Success that may be lost against the best so far, beyond the 95 % interval.'),
      })
      .nullable()
      .optional()
      .describe(
        'Roll the agent back if it has forgotten an anchor set that the simulator never sees. null = never.',
      ),
    coldStart: z
      .strictObject({
        tasks: positiveCount
          .default(32)
          .describe('Maximum number of base tasks that the simulator varies and the agent attempts.'),
        minValid: unitInterval
          .default(0.8)
          .describe('Share of the simulator’s tasks that must be valid; else the run fails.'),
      })
      .optional()
      .describe(
        'Check the initial policies before the first epoch, outside the rollout budget. Left out = no check.',
      ),
    frozenSamples: z
      .int()
      .min(0)
      .max(64)
      .default(1)
      .describe(
        'Attempts of the frozen initial agent at each new task, every epoch, outside the rollout budget; 0 = none.',
      ),
  })
  .describe('Guards against curricula that look right and teach nothing.');

export type Guards = z.infer<typeof guardsSchema>;
