import { zipRecords } from '../../async/streams.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { batchRecord, hasSampledTokens, jobSettings } from '../../training/job-settings.ts';
import type { TrainingRecord } from '../../training/job-settings.ts';
import { keepsPolicyWithoutSignal, LearnableBatch } from '../../training/learnable-batch.ts';
import { trainPolicy, updateNote } from '../../training/policy-update.ts';
import type { TrainAgentInput } from '../../types/activity-inputs.ts';
import type { Trained } from '../../types/activity-types.ts';
import type { FilterRecord, RewardRecord, ScoreRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';
import { readTraces } from './compute-rewards.ts';

/** GRPO on the epoch's rollouts (GenEnv, algorithm 1, phase 2). */
export function createTrainAgent(dependencies: Dependencies) {
  return (input: TrainAgentInput): Promise<Trained> =>
    runPhaseOnce(dependencies, 'train-agent', input, async (context) => {
      const { agent, trainer } = context.experiment;
      const { epoch, state } = input;
      const training = agent.training!;
      const needsReference = training.klCoefficient > 0 || training.maxKl !== null;
      const learnable = new LearnableBatch(training.minInformativeGroups);
      const batch = await dependencies.store.putRecords(
        learnable.watch(batchRecords(dependencies, context, input)),
      );
      const skipped = keepsPolicyWithoutSignal(context.experiment, 'agent') ? learnable.skipped() : null;
      if (skipped !== null)
        return { policy: state.agent, metrics: { steps: 0 }, note: updateNote('agent', skipped) };
      const { policy, metrics, note, result } = await trainPolicy(dependencies, context, {
        kind: 'grpo',
        role: 'agent',
        epoch,
        model: agent.model,
        start: { path: dependencies.store.path(state.agent.checkpoint!) },
        reference: needsReference ? state.initial_agent : null,
        trainerState: state.agent.trainer_state,
        batch,
        settings: {
          ...jobSettings(training),
          loss_type: training.lossType,
          clip_low: training.clipLow,
          clip_high: training.clipHigh,
          kl_bias_correction: training.klBiasCorrection,
          entropy_coefficient: training.entropyCoefficient,
          max_completion_length: agent.sampling.maxTokens * (context.world.turns?.limit ?? 1),
          min_informative_groups: training.minInformativeGroups,
          policy_version: state.agent.name,
          max_policy_lag: trainer.maxPolicyLag,
        },
      });
      return { policy, metrics: { ...metrics, steps: result.steps_done }, note };
    });
}

/** The kept groups, each of them complete in one optimizer step. */
async function* batchRecords(
  { store }: Dependencies,
  { experiment }: Phase,
  { epoch, traces, rewards, scores, decisions }: TrainAgentInput,
): AsyncGenerator<TrainingRecord> {
  const { seed, agent, world } = experiment;
  const { stepsPerEpoch, dropZeroVariance, formatReward = 0 } = agent.training!;
  const withAdvantages =
    formatReward > 0 ? await groupsWithAdvantages(store.records<RewardRecord>(rewards)) : new Set<string>();
  const groups: string[] = [];
  for await (const [{ task_id, informative }, { kept_for_agent }] of zipRecords(
    store.records<ScoreRecord>(scores),
    store.records<FilterRecord>(decisions),
  )) {
    const hasSignal = informative || withAdvantages.has(task_id);
    if (kept_for_agent && (hasSignal || !dropZeroVariance)) groups.push(task_id);
  }
  const order = randomStream(deriveSeed(seed, epoch, 'agent-steps')).shuffle(groups);
  const steps = new Map(
    order.map((task, index) => [task, Math.floor((index * stepsPerEpoch) / order.length)]),
  );
  for await (const [{ task_id, role, sampled }, { advantage }] of zipRecords(
    readTraces(store, traces),
    store.records<RewardRecord>(rewards),
  )) {
    const step = steps.get(task_id);
    if (role === 'agent' && step !== undefined && hasSampledTokens(sampled))
      yield batchRecord(sampled, { step, group_id: task_id, env_name: world.type, advantage, weight: 1 });
  }
}

/** Groups in which advantages differ from 0. A format reward gives some even to groups of equal success. */
async function groupsWithAdvantages(rewards: AsyncIterable<RewardRecord>): Promise<Set<string>> {
  const groups = new Set<string>();
  for await (const { task_id, role, advantage } of rewards)
    if (role === 'agent' && advantage !== 0) groups.add(task_id);
  return groups;
}
