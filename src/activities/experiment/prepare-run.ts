import { emptyHistory } from '../../coevolution/agent-history.ts';
import type { Experiment } from '../../config/experiment.ts';
import { servingOf } from '../../config/policy-servers.ts';
import { rejectContaminated } from '../../curriculum/generate-candidates.ts';
import { ensurePolicyServed } from '../../inference/publish.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { PrepareInput } from '../../types/activity-inputs.ts';
import type { PolicyRole, PolicyVersion, RunState } from '../../types/run-state.ts';
import type { HistoryRecord, SeedTaskRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Prepares the state that the first epoch starts from: base tasks, held-out tasks, empty pools, warm
 * policies.
 * @throws InvalidConfig for a base task that holds a question of a benchmark, and for a server whose context
 * is too short
 */
export function createPrepareRun(dependencies: Dependencies) {
  return (input: PrepareInput): Promise<RunState> =>
    runPhaseOnce(dependencies, 'prepare', { ...input, epoch: 0 }, async ({ experiment, world }) => {
      const { store } = dependencies;
      const { seed, evaluation } = experiment;
      for (const role of ['agent', 'environment'] as const)
        await checkContext(dependencies, experiment, role, input[role]);
      const baseSpecs = world.baseTasks(randomStream(deriveSeed(seed, 'base-tasks')));
      for (const [index, spec] of baseSpecs.entries())
        rejectContaminated(world, spec, `world: base task ${index + 1} of ${world.name}`);
      // By default the same for every seed, so that seeds can be compared, but no base tasks.
      const baseSet = new Set(baseSpecs);
      const heldOutSpecs = world
        .heldOutTasks(randomStream(deriveSeed(evaluation.heldOutSeed ?? 0, 'held-out-tasks')))
        .filter((spec) => !baseSet.has(spec));
      const history: HistoryRecord = { agent: emptyHistory(), progress: {} };
      const emptyPool = await store.putRecords([]);
      return {
        base_tasks: await store.putRecords(seedTaskRecords('base', baseSpecs)),
        held_out: await store.putRecords(seedTaskRecords('held-out', heldOutSpecs)),
        agent: input.agent,
        environment: input.environment,
        initial_agent: input.agent,
        initial_environment: input.environment,
        history: await store.putJson(history),
        train_pool: emptyPool,
        environment_pool: emptyPool,
        tokens: 0,
      };
    });
}

/**
 * Asks the server of a policy for the longest context.
 * @throws InvalidConfig if a completion of the most tokens leaves no room for a prompt
 */
async function checkContext(
  dependencies: Dependencies,
  experiment: Experiment,
  role: PolicyRole,
  policy: PolicyVersion,
): Promise<void> {
  const { durability } = experiment;
  const serving = servingOf(experiment, role);
  const { maxTokens } = experiment[role].sampling;
  // The embedded server lists what is published to it.
  if (serving.type === 'embedded') await ensurePolicyServed(dependencies, serving, policy);
  const client = dependencies.policyClient(serving, durability.requestTimeoutSeconds * 1000);
  const length = await client.contextLength(policy.name, dependencies.activityContext().signal);
  if (length !== null && length <= maxTokens)
    throw new InvalidConfig(
      `experiment: ${role}.sampling.maxTokens: got ${maxTokens}; the server has a context of ${length} tokens ` +
        `for ${policy.name}, prompt and completion together: lower maxTokens, or raise the server's limit ` +
        '(vLLM: --max-model-len, SGLang: --context-length)',
    );
}

const seedTaskRecords = (name: string, specs: readonly string[]): SeedTaskRecord[] =>
  specs.map((spec, index) => ({ id: `${name}-${String(index).padStart(3, '0')}`, spec }));
