/** What a run writes into the store, before retention: its policies, and records of what it sampled. */
import { stepCount } from '../coevolution/optimizer-steps.ts';
import { variationsWritten } from '../config/arms.ts';
import { maxRounds, replayCount } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';
import { servedName } from '../config/policy-servers.ts';
import { sum } from '../numerics/arithmetic.ts';
import type { World } from '../worlds/world.ts';
import { checkpointBytes, modelSize, stepCheckpointBytes, trainerStateBytes } from './model-size.ts';
import type { ModelSize } from './model-size.ts';
import type { PromptSizes } from './prompt-sizes.ts';
import type { ResourceEstimate } from './resource-estimate.ts';

export interface DiskEstimate {
  /** Weights, optimizer state and tokenizers of all epochs. */
  policies: number;
  /** Tasks, traces, batches, pools and the rest. */
  records: number;
  /** Step checkpoints of the jobs under way; gone when they end. */
  working: number;
  /** Folders of base models that are not on this machine, so that nothing is known of their policies. */
  unknown: string[];
}

export function estimateDisk(
  experiment: Experiment,
  world: World,
  estimate: ResourceEstimate,
  prompts: PromptSizes,
): DiskEstimate {
  const unknown = new Set<string>();
  const policies: number[] = [];
  const working: number[] = [];
  for (const role of ['environment', 'agent'] as const) {
    if (servedName(experiment, role) !== null) continue;
    const policy = experiment[role];
    const size = modelSize(policy.model, world.vocabulary.length);
    if (size === null) {
      if (policy.model.type === 'pretrained') unknown.add(policy.model.path);
      continue;
    }
    const isTrained = policy.training !== null;
    policies.push(firstBytes(size, policy.model.warmUp !== undefined));
    if (isTrained) policies.push(experiment.epochs * (checkpointBytes(size) + trainerStateBytes(size)));
    if (isTrained || policy.model.warmUp !== undefined) working.push(stepCheckpointBytes(size));
  }
  return {
    policies: sum(policies),
    records: recordBytes(experiment, estimate, prompts),
    working: sum(working),
    unknown: [...unknown],
  };
}

/** The initial policy: without a warm-up it took no step, and has no moments. */
const firstBytes = (size: ModelSize, isWarmedUp: boolean): number =>
  checkpointBytes(size) + (isWarmedUp ? trainerStateBytes(size) : trainerStateBytes({ ...size, trained: 0 }));

/** A log-probability as JSON, with its comma. */
const LOGPROB_BYTES = 21;
/** What records hold besides tokens and texts. */
const rowBytes = {
  sampled: 220,
  task: 450,
  trace: 120,
  batch: 230,
  reward: 150,
  verdicts: 300,
  answer: 120,
  key: 800,
};

/** Upper limit, as the counts that it is made of: every completion at its token limit. */
function recordBytes(
  experiment: Experiment,
  { evaluations, activities }: ResourceEstimate,
  prompts: PromptSizes,
): number {
  const { environment, agent, epochs, guards, pools } = experiment;
  const isPretrained = agent.model.type === 'pretrained';
  // Digits of a token id with its comma, and characters of its text.
  const [idBytes, textBytes] = isPretrained ? [6, 4] : [3, 1];
  const sampled = (prompt: number, completion: number): number =>
    rowBytes.sampled + prompt * idBytes + completion * (idBytes + LOGPROB_BYTES + textBytes);
  const batched = (prompt: number, completion: number): number =>
    rowBytes.batch + (prompt + completion) * (idBytes + 2) + prompt * 2 + completion * LOGPROB_BYTES;
  const [write, answer] = [environment.sampling.maxTokens, agent.sampling.maxTokens];
  const [simulator, solver] = [prompts.simulator.mean, prompts.agent.mean];

  const rounds = maxRounds(experiment);
  const newTasks = rounds * environment.promptsPerEpoch * environment.variationsPerPrompt;
  const drawn = rounds * replayCount(experiment);
  const written = rounds * environment.promptsPerEpoch * variationsWritten(experiment);
  // A round writes the tasks and the rewards of those before it again.
  const writes = (rounds + 1) / 2;
  const rollouts = (newTasks + drawn) * agent.rolloutsPerTask;
  const answered = rollouts + newTasks * guards.frozenSamples;
  const taskText = (simulator + solver) * textBytes;
  // Each epoch has those of its window.
  const poolEpochs = (window: number): number =>
    sum(Array.from({ length: epochs }, (_, epoch) => Math.min(epoch + 1, window)));
  const pooled = poolEpochs(pools.environment.window ?? epochs) * newTasks;
  const perEpoch =
    written * (rowBytes.task + taskText + sampled(simulator, write)) +
    (writes - 1) * newTasks * sampled(simulator, write) +
    writes * (newTasks + drawn) * (rowBytes.task + taskText + rowBytes.verdicts) +
    answered * (rowBytes.trace + sampled(solver, answer)) +
    writes * answered * (rowBytes.reward + answer * textBytes) +
    (agent.training === null ? 0 : rollouts * batched(solver, answer)) +
    regressionRecords(experiment, pooled / epochs) * batched(simulator, write);
  // Each epoch writes both pools anew.
  const pool = pooled * sampled(simulator, write);
  const corpus = sum(
    [environment, agent].map(({ model }, index) =>
      model.warmUp === undefined
        ? 0
        : model.warmUp.rows * (50 + ([simulator, solver][index]! + [write, answer][index]!) * textBytes),
    ),
  );
  return (
    epochs * perEpoch +
    pool +
    corpus +
    evaluations * (rowBytes.answer + answer * textBytes) +
    activities * rowBytes.key
  );
}

/** Records in the simulator's batches of a mean epoch, with those that its memory adds to each step. */
function regressionRecords({ environment, pools }: Experiment, pooled: number): number {
  const { training } = environment;
  if (training === null) return 0;
  const { stepsPerEpoch, recordsPerStep } = training;
  const steps = stepCount(pooled, { steps: stepsPerEpoch, size: recordsPerStep });
  const drawn = stepsPerEpoch === null ? pooled : steps * recordsPerStep;
  return drawn + steps * (pools.environment.memory?.recordsPerStep ?? 0);
}
