import { collect } from '../../async/streams.ts';
import { successRate } from '../../coevolution/success-rate.ts';
import { candidatesPerTask, screening } from '../../comparison/plan.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { inHalves, spread } from '../../numerics/spacing.ts';
import { attemptTasks } from '../../rollouts/task-attempts.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import { batchRecord, hasSampledTokens, NEUTRAL_JOB_SETTINGS } from '../../training/job-settings.ts';
import { runPolicyJob } from '../../training/policy-update.ts';
import type {
  MeasureGradientsInput,
  ProbeAttemptsInput,
  ProbeTasksInput,
} from '../../types/comparison-inputs.ts';
import type { ProbeAttempted } from '../../types/comparison-types.ts';
import type {
  GradientRecord,
  ProbeOutcomeRecord,
  ProbeTraceRecord,
  SeedTaskRecord,
} from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Selects tasks whose success rates span (0, 1) for the agent of an epoch. Half of the candidates are held
 * out (a grid from easy to hard, in every world), half are base tasks and what the simulators have written so
 * far (which crowds where it was rewarded). A few attempts sort the candidates by successes, and equally many
 * are taken of each class. These attempts are not used again: p is measured by new ones.
 */
export function createProbeTasks(dependencies: Dependencies) {
  return (input: ProbeTasksInput): Promise<FileRef> =>
    runPhaseOnce(dependencies, 'probe-tasks', input, async (context) => {
      const candidates = await drawProbeCandidates(dependencies, context, input);
      const successes = new Map<string, number>(candidates.map(({ id }) => [id, 0]));
      const attempts = attemptTasks(dependencies, context, {
        agent: input.state.agent,
        tasks: candidates,
        attempts: screening,
        seedPath: [input.epoch, 'probe-tasks'],
      });
      for await (const { task, solved } of attempts)
        if (solved) successes.set(task.id, successes.get(task.id)! + 1);
      const classes = Array.from({ length: screening + 1 }, (_, k) =>
        candidates.filter(({ id }) => successes.get(id) === k),
      );
      return dependencies.store.putRecords(spread(classes, input.tasks));
    });
}

async function drawProbeCandidates(
  { store }: Dependencies,
  { experiment }: Phase,
  { epoch, state, tasks }: ProbeTasksInput,
): Promise<SeedTaskRecord[]> {
  const random = randomStream(deriveSeed(experiment.seed, epoch, 'probe-tasks'));
  const [heldOut, base, history] = await Promise.all(
    [state.held_out, state.base_tasks, state.train_pool].map(async (file) =>
      collect(store.records<SeedTaskRecord>(file)),
    ),
  );
  const pools = [random.shuffle(heldOut!), random.shuffle([...base!, ...history!])];
  const candidates = spread(pools, candidatesPerTask * tasks);
  const specs = [...new Set(candidates.map(({ spec }) => spec))];
  return specs.map((spec, index) => ({ id: `probe-${String(index).padStart(4, '0')}`, spec }));
}

/** Lets the agent of an epoch attempt each probed task many times; its samples are kept for gradients. */
export function createProbeAttempts(dependencies: Dependencies) {
  return (input: ProbeAttemptsInput): Promise<ProbeAttempted> =>
    runPhaseOnce(dependencies, 'probe-attempts', input, async (context) => {
      const tasks = await collect(dependencies.store.records<SeedTaskRecord>(input.tasks));
      const outcomes = new Map(
        tasks.map(({ id, spec }): [string, ProbeOutcomeRecord] => [
          id,
          { task_id: id, spec, difficulty: context.world.difficulty(spec), solved: [] },
        ]),
      );
      const traces = await dependencies.store.putRecords(
        (async function* (): AsyncGenerator<ProbeTraceRecord> {
          const attempts = attemptTasks(dependencies, context, {
            agent: input.state.agent,
            tasks,
            attempts: input.attempts,
            seedPath: [input.epoch, 'probe-attempts'],
          });
          for await (const { task, attempt, reward, solved, sampled } of attempts) {
            outcomes.get(task.id)!.solved[attempt] = solved ? 1 : 0;
            yield { task_id: task.id, attempt, reward, sampled };
          }
        })(),
      );
      return { traces, outcomes: await dependencies.store.putRecords(outcomes.values()) };
    });
}

/** Limit of the attempts at a task that a gradient is taken of: claim C7 needs 64 in each tenth of p. */
const maxGradients = 64;

/**
 * Measures the gradient signal of each probed task at the agent that attempted it: mean of ‖(r - p̂) ∇ log
 * π(y|x)‖² (GenEnv, Proposition 1, with its baseline b = p). p̂ is taken over the first half of the attempts
 * and gradients over the second, so that they are independent. The job takes no step and writes no weights.
 */
export function createMeasureGradients(dependencies: Dependencies) {
  return (input: MeasureGradientsInput): Promise<FileRef> =>
    runPhaseOnce(dependencies, 'measure-gradients', input, async (context) => {
      const { agent } = context.experiment;
      const { state, epoch } = input;
      const outcomes = await collect(dependencies.store.records<ProbeOutcomeRecord>(input.outcomes));
      const rates = new Map(
        outcomes.map(({ task_id, solved }) => [task_id, successRate(inHalves(solved).first).rate!]),
      );
      const { result } = await runPolicyJob(dependencies, context, {
        kind: 'gradient_norms',
        phase: null,
        role: 'agent',
        epoch,
        model: agent.model,
        start: { path: await dependencies.store.localPath(state.agent.checkpoint!) },
        reference: null,
        trainerState: null,
        batch: await dependencies.store.putRecords(batchRecords(dependencies, input, outcomes, rates)),
        settings: {
          ...NEUTRAL_JOB_SETTINGS,
          tokens_per_micro_batch:
            agent.training?.tokensPerMicroBatch ?? NEUTRAL_JOB_SETTINGS.tokens_per_micro_batch,
          policy_version: state.agent.name,
        },
      });
      return dependencies.store.putRecords(
        result.groups.map(({ group_id, ...means }): GradientRecord => ({
          task_id: group_id,
          success_rate: rates.get(group_id)!,
          ...means,
        })),
      );
    });
}

/** Each task is a step, since the job can be stopped and resumed between steps. */
async function* batchRecords(
  { store }: Dependencies,
  { traces }: MeasureGradientsInput,
  outcomes: readonly ProbeOutcomeRecord[],
  rates: ReadonlyMap<string, number>,
) {
  const steps = new Map(
    outcomes.map(({ task_id, solved }, step) => {
      const first = inHalves(solved).first.length;
      return [task_id, { step, solved, first }];
    }),
  );
  for await (const { task_id, attempt, sampled } of store.records<ProbeTraceRecord>(traces)) {
    const { step, solved, first } = steps.get(task_id)!;
    if (attempt < first || attempt >= first + maxGradients || !hasSampledTokens(sampled)) continue;
    yield batchRecord(sampled, {
      step,
      group_id: task_id,
      env_name: 'probe',
      advantage: solved[attempt]! - rates.get(task_id)!,
      weight: 1,
    });
  }
}
