import { inHalves } from '../coevolution/halves.ts';
import { successRate } from '../coevolution/success-rate.ts';
import type { MeasureGradientsInput } from '../contracts/comparisons.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { GradientRecord, ProbeOutcomeRecord, ProbeTraceRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { batchRecord } from './batch-record.ts';
import { idleSettings } from './job-settings.ts';
import { phase } from './phase.ts';
import { policyJob } from './policy-job.ts';
import type { Ports } from './ports.ts';

/** Attempts at each task that a gradient is taken of, at most: claim C7 wants 64 in each tenth of p. */
const rollouts = 64;

/**
 * The gradient signal of each probed task at the agent that attempted it: mean of ‖(r - p̂) ∇ log π(y|x)‖² (GenEnv, Proposition 1, with
 * its baseline b = p). p̂ is taken over the first half of the attempts, gradients over the second, so that neither knows the
 * other. The job takes no step and writes no weights.
 */
export function createMeasureGradients(ports: Ports) {
  return (input: MeasureGradientsInput): Promise<FileRef> =>
    phase(ports, 'measure-gradients', input, async (context) => {
      const { agent } = context.experiment;
      const { state, epoch } = input;
      const outcomes = await collect(ports.store.records<ProbeOutcomeRecord>(input.outcomes));
      const rates = new Map(
        outcomes.map(({ task_id, solved }) => [task_id, successRate(inHalves(solved).first).rate!]),
      );
      const { result } = await policyJob(ports, context, {
        kind: 'gradient_norms',
        role: 'agent',
        epoch,
        model: agent.model,
        start: { path: ports.store.path(state.agent.checkpoint!) },
        reference: null,
        trainerState: null,
        batch: await ports.store.putRecords(batchRecords(ports, input, outcomes, rates)),
        settings: {
          ...idleSettings,
          tokens_per_micro_batch: agent.training?.tokensPerMicroBatch ?? idleSettings.tokens_per_micro_batch,
          policy_version: state.agent.name,
        },
      });
      return ports.store.putRecords(
        result.groups.map(({ group_id, ...means }): GradientRecord => ({
          task_id: group_id,
          success_rate: rates.get(group_id)!,
          ...means,
        })),
      );
    });
}

/** A task is a step, since between steps the job may be stopped and go on. */
async function* batchRecords(
  { store }: Ports,
  { traces }: MeasureGradientsInput,
  outcomes: readonly ProbeOutcomeRecord[],
  rates: ReadonlyMap<string, number>,
) {
  const steps = new Map(
    outcomes.map(({ task_id, solved }, step) => [
      task_id,
      { step, solved, first: inHalves(solved).first.length },
    ]),
  );
  for await (const { task_id, attempt, sampled } of store.records<ProbeTraceRecord>(traces)) {
    const { step, solved, first } = steps.get(task_id)!;
    if (attempt < first || attempt >= first + rollouts) continue;
    yield batchRecord(sampled, {
      step,
      group_id: task_id,
      env_name: 'probe',
      advantage: solved[attempt]! - rates.get(task_id)!,
      weight: 1,
    });
  }
}
