import { zipRecords } from '../../async/streams.ts';
import { agentSteps, stepAt } from '../../coevolution/optimizer-steps.ts';
import type { AgentTraining } from '../../config/policies.ts';
import { putServersToSleep } from '../../inference/sleeping-servers.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { activeTokens, batchRecord, hasSampledTokens, jobSettings } from '../../training/job-settings.ts';
import type { TrainingRecord } from '../../training/job-settings.ts';
import { keepsPolicyWithoutSignal, LearnableBatch } from '../../training/learnable-batch.ts';
import { trainPolicy, updateNote } from '../../training/policy-update.ts';
import type { TrainAgentInput } from '../../types/activity-inputs.ts';
import type { Trained } from '../../types/activity-types.ts';
import type { StepTotals } from '../../types/training-job.ts';
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
      const wholeSteps = dividesByAll(training) ? ([] as StepTotals[]) : null;
      const batch = await dependencies.store.putRecords(
        learnable.watch(batchRecords(dependencies, context, input, wholeSteps)),
      );
      const skipped = keepsPolicyWithoutSignal(context.experiment, 'agent') ? learnable.skipped() : null;
      if (skipped !== null)
        return { policy: state.agent, metrics: { steps: 0 }, note: updateNote('agent', skipped) };
      await putServersToSleep(dependencies, context.experiment.serving);
      const { policy, metrics, note, result } = await trainPolicy(dependencies, context, {
        kind: 'grpo',
        phase: { run: input.run.id, name: 'train agent' },
        role: 'agent',
        epoch,
        model: agent.model,
        start: { path: await dependencies.store.localPath(state.agent.checkpoint!) },
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
          normaliser_totals: wholeSteps,
          policy_version: state.agent.name,
          max_policy_lag: trainer.maxPolicyLag,
        },
      });
      return { policy, metrics: { ...metrics, steps: result.steps_done }, note };
    });
}

/** Whether groups that are dropped still count in what the loss is divided by. */
const dividesByAll = ({ dropZeroVariance, dynamicSampling, normalizeBy }: AgentTraining): boolean =>
  dropZeroVariance && (normalizeBy ?? (dynamicSampling === undefined ? 'all' : 'kept')) === 'all';

/**
 * The kept groups, each of them complete in one optimizer step.
 * @param wholeSteps filled with the totals of each step over the groups that would be in it if none were
 * dropped; null if nobody needs them. Groups are then in the steps that they would be in, too
 */
async function* batchRecords(
  { store }: Dependencies,
  { experiment }: Phase,
  { epoch, traces, rewards, scores, decisions }: TrainAgentInput,
  wholeSteps: StepTotals[] | null,
): AsyncGenerator<TrainingRecord> {
  const { seed, agent, world } = experiment;
  const { dropZeroVariance } = agent.training!;
  const withAdvantages = dropZeroVariance
    ? await groupsWithAdvantages(store.records<RewardRecord>(rewards))
    : new Set<string>();
  const groups: string[] = [];
  const silent = new Set<string>();
  for await (const [{ task_id, informative }, { kept_for_agent }] of zipRecords(
    store.records<ScoreRecord>(scores),
    store.records<FilterRecord>(decisions),
  )) {
    const isDropped = dropZeroVariance && !informative && !withAdvantages.has(task_id);
    if (!kept_for_agent || (isDropped && wholeSteps === null)) continue;
    groups.push(task_id);
    if (isDropped) silent.add(task_id);
  }
  const order = randomStream(deriveSeed(seed, epoch, 'agent-steps')).shuffle(groups);
  const count = agentSteps(agent.training!, order.length);
  const steps = new Map(order.map((task, index) => [task, stepAt(index, order.length, count)]));
  for await (const [{ task_id, role, sampled }, { advantage }] of zipRecords(
    readTraces(store, traces),
    store.records<RewardRecord>(rewards),
  )) {
    const step = steps.get(task_id);
    if (role !== 'agent' || step === undefined || !hasSampledTokens(sampled)) continue;
    const fields = { step, group_id: task_id, env_name: world.type, advantage, weight: 1 };
    const record = batchRecord(sampled, fields);
    if (wholeSteps !== null) addToStep(wholeSteps, record);
    if (!silent.has(task_id)) yield record;
  }
}

function addToStep(totals: StepTotals[], { step, mask }: TrainingRecord): void {
  while (totals.length <= step) totals.push({ sequences: 0, active_tokens: 0 });
  totals[step]!.sequences += 1;
  totals[step]!.active_tokens += activeTokens(mask);
}

/** Groups in which advantages differ from 0: a format reward, or a graded one, gives some even to equal successes. */
async function groupsWithAdvantages(rewards: AsyncIterable<RewardRecord>): Promise<Set<string>> {
  const groups = new Set<string>();
  for await (const { task_id, role, advantage } of rewards)
    if (role === 'agent' && advantage !== 0) groups.add(task_id);
  return groups;
}
