/**
 * One epoch of GenEnv (algorithm 1), and the preparation before the first. Each phase takes file references
 * and returns file references, so no rollout passes through here, and a phase that is retried finds the
 * results of those before it. The pipeline does not know Temporal: the workflow `epoch` gives it activity
 * proxies and a runner that waits for pauses; the commit gives it what the phases have recorded; tests and
 * benchmarks give it plain functions.
 */
import type { PolicyRole, PolicyVersion, RunState } from '../types/run-state.ts';
import type { OpenedEpoch, Trained } from '../types/activity-types.ts';
import type { EpochStart, PipelineActivities, PhaseRunner } from './pipeline-activities.ts';
import { sampleEpoch } from './sampling-rounds.ts';
import { fileRefs, mapShards, samplingMetrics, samplingNotes, sumField, usageOf } from './shards.ts';
import { weightsInRole } from './shared-weights.ts';

export async function runEpochPipeline<Committed>(
  activities: PipelineActivities<Committed>,
  start: EpochStart,
  runner: PhaseRunner,
): Promise<Committed> {
  const { run, settings, epoch, state } = start;
  const { trains, sharesWeights = false, concurrentUpdates = false } = settings;
  const input = { run, epoch, state };

  const sampled = await sampleEpoch(activities, start, runner);
  const { tasks, traces, generated, rollouts, filtered } = sampled;
  const { rewards, scores } = sampled.rewards;
  const { decisions } = filtered;
  const pools = await runner.run('pools', () =>
    activities.updatePools({ ...input, tasks, scores, decisions }),
  );

  // Each policy that trains becomes a new version, which the model servers load.
  const trainAgent = async (): Promise<Trained> =>
    trains.agent
      ? runner.run('train agent', () =>
          activities.trainAgent({ ...input, traces, rewards, scores, decisions }),
        )
      : unchangedPolicy(state.agent);
  const trainEnvironment = async (from?: Trained): Promise<Trained> =>
    trains.environment
      ? runner.run('train environment', () =>
          activities.trainEnvironment({
            ...input,
            environmentPool: pools.environmentPool,
            decisions,
            ...(from && { policy: weightsInRole(from.policy, 'environment', state.environment) }),
          }),
        )
      : unchangedPolicy(state.environment);
  // Neither update reads what the other writes, but for one model in both roles: there the simulator's update
  // starts from what the agent's has made of it.
  const inTurn = async (): Promise<[Trained, Trained]> => {
    const trained = await trainAgent();
    return [trained, await trainEnvironment(sharesWeights ? trained : undefined)];
  };
  const [agent, environment] = concurrentUpdates
    ? await Promise.all([trainAgent(), trainEnvironment()])
    : await inTurn();
  const trainedAgent = sharesWeights
    ? weightsInRole(environment.policy, 'agent', agent.policy)
    : agent.policy;
  await runner.run('publish', () =>
    Promise.all(
      [trainedAgent, environment.policy].map((policy) => activities.publishPolicy({ run, policy })),
    ),
  );

  // Guard: an agent that has forgotten the anchor set is rolled back.
  const forgetting = isDue(settings.gateEvery, epoch, settings.epochs)
    ? await runner.run('gate', () => activities.gateAgent({ ...input, agent: trainedAgent }))
    : undefined;
  const acceptedAgent = forgetting?.agent ?? trainedAgent;

  // The agent's score on held-out tasks.
  const verdicts = isDue(settings.evaluateEvery, epoch, settings.epochs)
    ? await runner.run('evaluate', () =>
        mapShards(settings.shards.evaluate, (shard) =>
          activities.evaluatePolicy({ ...input, ...shard, agent: acceptedAgent }),
        ),
      )
    : [];

  const next: RunState = {
    ...state,
    agent: acceptedAgent,
    ...(forgetting && { anchor: forgetting.anchor }),
    // If the agent is rolled back, so is the simulator that it is; its optimizer keeps the moments of the update.
    environment: sharesWeights
      ? weightsInRole(acceptedAgent, 'environment', environment.policy)
      : environment.policy,
    history: pools.history,
    train_pool: pools.trainPool,
    environment_pool: pools.environmentPool,
    tokens: state.tokens + sumField([...generated, ...rollouts], 'tokens'),
  };
  return runner.run('commit', () =>
    activities.commitEpoch({
      run,
      epoch,
      outputs: { tasks, traces, rewards, scores, decisions, verdicts: fileRefs(verdicts) },
      next,
      metrics: [
        sampled.rewards.metrics,
        filtered.metrics,
        sampled.metrics,
        pools.metrics,
        agent.metrics,
        environment.metrics,
        ...(forgetting ? [forgetting.metrics] : []),
        samplingMetrics(generated, rollouts),
      ],
      notes: [
        ...samplingNotes([...generated, ...rollouts]),
        ...[agent.note, environment.note, forgetting?.note ?? null].filter((note) => note !== null),
        ...samplingNotes(verdicts),
      ],
      retried: sumField([...generated, ...rollouts, ...verdicts], 'retried'),
      ...usageOf([...generated, ...rollouts, ...verdicts]),
      seconds: runner.seconds(),
    }),
  );
}

/**
 * Epoch 0: both policies are warmed up, base and held-out tasks are written, and the agent gets its score
 * before any training.
 */
export async function runPreparation<Committed>(
  activities: PipelineActivities<Committed>,
  { run, settings }: Pick<OpenedEpoch, 'run' | 'settings'>,
  runner: PhaseRunner,
): Promise<Committed> {
  const warmUp = (role: PolicyRole) => activities.warmUp({ run, role });
  const [agent, environment] = await runner.run('warm up', () =>
    Promise.all([warmUp('agent'), warmUp('environment')]),
  );
  const prepared = await runner.run('prepare', () => activities.prepareRun({ run, agent, environment }));
  await runner.run('publish', () =>
    Promise.all([agent, environment].map((policy) => activities.publishPolicy({ run, policy }))),
  );

  // A simulator that writes no valid tasks, or an agent that never succeeds, would learn nothing.
  const input = { run, epoch: 0, state: prepared };
  const coldStart = settings.checksColdStart
    ? await runner.run('cold start', () => activities.checkColdStart(input))
    : undefined;

  // Arms that train on a fixed data set write it now.
  const dataset = settings.writesPool
    ? await runner.run('write pool', () => activities.writePool(input))
    : undefined;

  // What the agent can do now is what it may not forget.
  const forgetting =
    settings.gateEvery === undefined
      ? undefined
      : await runner.run('gate', () => activities.gateAgent({ ...input, agent }));

  const state: RunState = {
    ...prepared,
    ...(dataset && { task_pool: dataset.pool, tokens: dataset.tokens }),
    ...(forgetting && { anchor: forgetting.anchor }),
  };
  const verdicts = await runner.run('evaluate', () =>
    mapShards(settings.shards.evaluate, (shard) =>
      activities.evaluatePolicy({ run, epoch: 0, state, ...shard, agent }),
    ),
  );
  return activities.commitEpoch({
    run,
    epoch: 0,
    outputs: {
      tasks: null,
      traces: [],
      rewards: null,
      scores: null,
      decisions: null,
      verdicts: fileRefs(verdicts),
    },
    next: state,
    metrics: [coldStart?.metrics, dataset?.metrics, forgetting?.metrics].filter(
      (metrics) => metrics !== undefined,
    ),
    notes: [...(coldStart === undefined ? [] : [coldStart.note]), ...samplingNotes(verdicts)],
    retried: sumField(verdicts, 'retried'),
    ...usageOf(verdicts, dataset?.tokens),
    seconds: runner.seconds(),
  });
}

/** Whether something that happens every so many epochs, and after the last one, happens after this epoch. */
const isDue = (every: number | undefined, epoch: number, epochs: number): boolean =>
  every !== undefined && (epoch % every === 0 || epoch === epochs);

const unchangedPolicy = (policy: PolicyVersion): Trained => ({ policy, metrics: {}, note: null });
