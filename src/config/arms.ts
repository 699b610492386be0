import { z } from 'zod';
import { maxCount, nonNegativeNumber, positiveCount, positiveNumber } from '../validation/limited-fields.ts';
import { poolSourceSchema } from './pool-sources.ts';

/**
 * Where an arm's tasks come from. All else (rollouts, the agent's update, guards, evaluation) is the same in
 * every arm, so that two runs of one file differ in the curriculum alone.
 */

/** Settings of the predictor of success, in arms that choose among candidates. */
const predictorFields = {
  predictor: z
    .enum(['difficulty', 'text'])
    .optional()
    .describe(
      'What the predictor of success sees: `difficulty` = the world’s own number, which is privileged; ' +
        '`text` = the task as the simulator wrote it. Left out = `difficulty`.',
    ),
  bandwidth: positiveNumber
    .default(1)
    .describe('Difficulty over which the predictor `difficulty` smooths, in the world’s own unit.'),
  memory: positiveCount.default(4).describe('Epochs of outcomes that the predictor looks back on.'),
};

const genenvArm = z
  .strictObject({
    type: z.literal('genenv'),
    preset: z
      .enum(['paper', 'tuned'])
      .describe(
        '`paper` = the published method, gaps filled; `tuned` = what works at this scale. docs/method.md has both.',
      ),
  })
  .describe('The method: both policies adapt to each other.');

const randomArm = z
  .strictObject({ type: z.literal('random') })
  .describe('The simulator stays frozen: random variations of the seeds.');

const staticArm = z
  .strictObject({
    type: z.literal('static'),
    variations: positiveCount
      .default(5)
      .describe('Variations of each base task that the frozen simulator writes, once. Paper: 5.'),
  })
  .describe('A data set written once: the base tasks and their variations.');

const offlineArm = z
  .strictObject({
    type: z.literal('offline'),
    multiple: positiveNumber
      .default(2)
      .describe(
        'Size of the data set before it is filtered, in multiples of the base tasks. Paper: 2 and 4.',
      ),
    source: poolSourceSchema,
  })
  .describe('A data set written once by another model, or given, filtered for validity.');

const selectionArm = z
  .strictObject({
    type: z.literal('selection'),
    candidates: z
      .int()
      .min(2)
      .max(maxCount)
      .default(4)
      .describe('Tasks that the frozen simulator writes for each that is rolled out.'),
    ...predictorFields,
  })
  .describe('Selection only: of the frozen simulator’s candidates those with the largest predicted p(1-p).');

const bestOfNArm = z
  .strictObject({
    type: z.literal('best-of-n'),
    candidates: z
      .int()
      .min(2)
      .max(maxCount)
      .default(4)
      .describe('n: tasks that the frozen simulator writes for each that is rolled out.'),
    exemplars: z
      .int()
      .min(0)
      .max(16)
      .default(3)
      .describe('Tasks of D_env in each of its prompts, drawn by exp(λ R_env).'),
    lambda: nonNegativeNumber.default(5).describe('Temperature λ of that draw.'),
    ...predictorFields,
  })
  .describe(
    'For a simulator that cannot be trained: of its candidates the one with the largest predicted ' +
      'R_env, and exemplars in its prompt.',
  );

const windowArm = z
  .strictObject({
    type: z.literal('window'),
    start: positiveNumber
      .default(1)
      .describe('Hardest level at the start, in the world’s own unit of difficulty.'),
    raiseAt: z
      .number()
      .gt(0)
      .max(1)
      .default(0.9)
      .describe('Success at the hardest level at which the next one opens.'),
    lowerAt: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe('Success below which the hardest level closes again. Left out = it never falls.'),
    step: positiveNumber.default(1).describe('Distance of two levels.'),
    levels: positiveCount.default(4).describe('Levels that stay open, the hardest included.'),
    minAttempts: positiveCount
      .default(64)
      .describe('Attempts at the hardest level before it is judged, over as many epochs as that takes.'),
  })
  .describe('A difficulty set by hand: no simulator writes; the hardest level rises with success.');

const evolvedArm = z
  .strictObject({
    type: z.literal('evolved'),
    parents: positiveCount
      .default(16)
      .describe('Tasks of D_env, those nearest to α, that a generation varies in place of the base tasks.'),
  })
  .describe(
    'Generation by generation: the frozen simulator varies the tasks whose success was nearest to α.',
  );

const uniformArm = z
  .strictObject({ type: z.literal('uniform') })
  .describe('Domain randomisation: code draws over the cells of the held-out grid; no simulator writes.');

const oracleArm = z
  .strictObject({
    type: z.literal('oracle'),
    start: positiveNumber.default(1).describe('Difficulty of the first epoch, in the world’s own unit.'),
    step: positiveNumber.default(1).describe('Distance of two levels of difficulty; an epoch mixes two.'),
    gain: positiveNumber
      .default(2)
      .describe('Relative change of difficulty for a success rate that is off α by one.'),
  })
  .describe('A controller by code that keeps success at α: the curriculum that the simulator aims at.');

const successBinArm = z
  .strictObject({
    type: z.literal('success-bin'),
    target: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe(
        'Success of the initial agent that the tasks of the data set are nearest to; null = spread evenly over all rates.',
      ),
    candidates: positiveCount.default(256).describe('Tasks drawn by code, of which the data set is chosen.'),
    attempts: z
      .int()
      .min(1)
      .max(4096)
      .default(16)
      .describe(
        'Attempts of the initial agent at each candidate by which it is chosen, and as many fresh ones that say what its success is.',
      ),
    tasks: positiveCount.default(32).describe('Size of the data set.'),
  })
  .describe(
    'Tasks drawn by code whose measured success is nearest to a target: which success rate teaches most, without a simulator.',
  );

export const armSchema = z
  .discriminatedUnion('type', [
    genenvArm,
    randomArm,
    staticArm,
    offlineArm,
    selectionArm,
    bestOfNArm,
    evolvedArm,
    windowArm,
    uniformArm,
    oracleArm,
    successBinArm,
  ])
  .describe('Variant of the method: where the tasks come from.');

export type Arm = z.infer<typeof armSchema>;
export type SuccessBinArm = z.infer<typeof successBinArm>;
type Written = { arm: Arm; environment: { variationsPerPrompt: number } };

/** The name of an arm in tables, search attributes and charts. */
export function armName(arm: Arm): string {
  if (arm.type === 'genenv') return `genenv-${arm.preset}`;
  if (arm.type === 'success-bin') return `success-bin-${arm.target ?? 'even'}`;
  if (arm.type === 'selection' || arm.type === 'best-of-n')
    return arm.predictor === 'text' ? `${arm.type}-text` : arm.type;
  if (arm.type !== 'offline') return arm.type;
  return `offline-${arm.multiple}x${arm.source.type === 'code' ? '-code' : ''}`;
}

/** What an arm is told, and the simulator of the method has to find out; null = nothing. */
export function privilegeOf(arm: Arm): string | null {
  switch (arm.type) {
    case 'genenv':
    case 'random':
    case 'static':
    case 'evolved':
      return null;
    case 'selection':
    case 'best-of-n':
      return arm.predictor === 'text' ? null : 'how hard each task is';
    case 'window':
    case 'oracle':
      return 'how hard tasks are, and may ask for tasks of any difficulty';
    case 'uniform':
      return 'the cells of the held-out tasks';
    case 'success-bin':
      return 'the cells of the held-out tasks, and success measured outside the rollout budget';
    case 'offline':
      return arm.source.type === 'code' ? 'the cells of the held-out tasks' : 'the tasks of another author';
  }
}

/** Whether an arm draws its tasks from a data set written once, before the first epoch. */
export const drawsFromPool = (
  arm: Arm,
): arm is Extract<Arm, { type: 'static' | 'offline' | 'success-bin' }> =>
  arm.type === 'static' || arm.type === 'offline' || arm.type === 'success-bin';

/** Whether an arm's tasks are drawn by the world's code, in each epoch. */
export const isDrawnByCode = (arm: Arm): arm is Extract<Arm, { type: 'uniform' | 'oracle' | 'window' }> =>
  arm.type === 'uniform' || arm.type === 'oracle' || arm.type === 'window';

/** Tasks that the simulator writes for each of an epoch's seed prompts; 0 if they come from elsewhere. */
export function variationsWritten({ arm, environment }: Written): number {
  if (drawsFromPool(arm) || isDrawnByCode(arm)) return 0;
  return arm.type === 'selection' || arm.type === 'best-of-n'
    ? arm.candidates * environment.variationsPerPrompt
    : environment.variationsPerPrompt;
}
