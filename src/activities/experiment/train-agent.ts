import { zip } from '../../async/streams.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { batchRecord, jobSettings } from '../../training/job-settings.ts';
import { trainPolicy } from '../../training/policy-update.ts';
import type { TrainAgentInput, Trained } from '../../types/activity-types.ts';
import type { FilterRecord, RewardRecord, ScoreRecord, TraceRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** GRPO on the epoch's rollouts (GenEnv, algorithm 1, phase 2). */
export function createTrainAgent(dependencies: Dependencies) {
  return (input: TrainAgentInput): Promise<Trained> =>
    runPhaseOnce(dependencies, 'train-agent', input, async (context) => {
      const { agent, trainer } = context.experiment;
      const { epoch, state } = input;
      const training = agent.training!;
      const batch = await dependencies.store.putRecords(batchRecords(dependencies, context, input));
      const { policy, metrics, note, result } = await trainPolicy(dependencies, context, {
        kind: 'grpo',
        role: 'agent',
        epoch,
        model: agent.model,
        start: { path: dependencies.store.path(state.agent.checkpoint!) },
        reference: training.klCoefficient > 0 || training.maxKl !== null ? state.initial_agent : null,
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

/**
 * The kept groups, each whole in one optimizer step; groups without signal may drop, after they counted for
 * p̂.
 */
async function* batchRecords(
  { store }: Dependencies,
  { experiment }: Phase,
  { epoch, traces, rewards, scores, decisions }: TrainAgentInput,
) {
  const { seed, agent, world } = experiment;
  const { stepsPerEpoch, dropZeroVariance, formatReward = 0 } = agent.training!;
  const groups: string[] = [];
  const advantaged =
    formatReward > 0 ? await groupsWithAdvantages(store.records<RewardRecord>(rewards)) : new Set<string>();
  for await (const [{ task_id, informative }, { kept_for_agent }] of zip(
    store.records<ScoreRecord>(scores),
    store.records<FilterRecord>(decisions),
  )) {
    if (kept_for_agent && (informative || advantaged.has(task_id) || !dropZeroVariance)) groups.push(task_id);
  }
  const order = randomStream(deriveSeed(seed, epoch, 'agent-steps')).shuffle(groups);
  const steps = new Map(
    order.map((task, index) => [task, Math.floor((index * stepsPerEpoch) / order.length)]),
  );
  const scored = store.records<RewardRecord>(rewards);
  for (const file of traces) {
    for await (const { id, task_id, role, sampled } of store.records<TraceRecord>(file)) {
      // Rewards were written in the order of the traces.
      const { value: reward } = (await scored.next()) as IteratorYieldResult<RewardRecord>;
      if (reward.id !== id)
        throw new Error(
          `reward ${reward.id} beside trace ${id}: rewards and traces are not of the same epoch`,
        );
      const step = steps.get(task_id);
      if (role === 'agent' && step !== undefined)
        yield batchRecord(sampled, {
          step,
          group_id: task_id,
          env_name: world.type,
          advantage: reward.advantage,
          weight: 1,
        });
    }
  }
}

/** Groups with a signal: where form earns something, also those whose answers are all wrong, or all right. */
async function groupsWithAdvantages(rewards: AsyncIterable<RewardRecord>): Promise<Set<string>> {
  const groups = new Set<string>();
  for await (const { task_id, role, advantage } of rewards)
    if (role === 'agent' && advantage !== 0) groups.add(task_id);
  return groups;
}
