import type { CpuActivities, GpuActivities, LlmActivities } from '../activities/index.ts';
import type {
  CommittedEpoch,
  OpenedEpoch,
  PolicyRole,
  PolicyVersion,
  Run,
  RunState,
  Sampling,
  Trained,
  WorkflowSettings,
} from '../types/activity-types.ts';

export type EpochActivities = CpuActivities & LlmActivities & GpuActivities;

export interface EpochStart {
  run: Run;
  settings: WorkflowSettings;
  epoch: number;
  state: RunState;
}

/** How phases are run, one after the other: a workflow waits for pauses and takes the time. */
export interface StepRunner {
  inPhase: <T>(phase: string, work: () => Promise<T>) => Promise<T>;
  /** Seconds by phase so far. */
  seconds: () => Record<string, number>;
  /** Called with the traces of each shard that was rolled out. */
  rolledOut?: (traces: number) => void;
}

/** The phases of one epoch, in their order (GenEnv, algorithm 1); with or without Temporal around it. */
export async function runEpochPipeline(
  does: EpochActivities,
  { run, settings, epoch: number, state }: EpochStart,
  { inPhase, seconds, rolledOut }: StepRunner,
): Promise<CommittedEpoch> {
  const { trains, shards } = settings;
  const here = { run, epoch: number, state };

  const generated = await inPhase('generate', () =>
    mapShards(shards.generate, (shard) => does.generateTasks({ ...here, ...shard })),
  );
  const tasks = await inPhase('draw', () => does.drawTasks({ ...here, generated: fileRefs(generated) }));
  const sampled = await inPhase('roll out', () =>
    mapShards(shards.rollOut, async (shard) => {
      const traces = await does.rollOut({ ...here, ...shard, tasks });
      rolledOut?.(traces.file.count);
      return traces;
    }),
  );
  const traces = fileRefs(sampled);
  const {
    rewards,
    scores,
    metrics: outcome,
  } = await inPhase('reward', () => does.computeRewards({ ...here, tasks, traces }));
  const { decisions, metrics: filtered } = await inPhase('filter', () =>
    does.filterByDifficulty({ ...here, scores }),
  );
  const pools = await inPhase('pools', () => does.updatePools({ ...here, tasks, scores, decisions }));
  const agent = trains.agent
    ? await inPhase('train agent', () => does.trainAgent({ ...here, traces, rewards, scores, decisions }))
    : unchanged(state.agent);
  const environment = trains.environment
    ? await inPhase('train environment', () =>
        does.trainEnvironment({ ...here, environmentPool: pools.environmentPool, decisions }),
      )
    : unchanged(state.environment);
  await inPhase('publish', () =>
    Promise.all([agent, environment].map(({ policy }) => does.publishPolicy({ run, policy }))),
  );
  const gates =
    settings.gateEvery !== undefined && (number % settings.gateEvery === 0 || number === settings.epochs);
  const gated = gates
    ? await inPhase('gate', () => does.gateAgent({ ...here, agent: agent.policy }))
    : undefined;
  const accepted = gated?.agent ?? agent.policy;
  const evaluates = number % settings.evaluateEvery === 0 || number === settings.epochs;
  const verdicts = evaluates
    ? await inPhase('evaluate', () =>
        mapShards(shards.evaluate, (shard) => does.evaluatePolicy({ ...here, ...shard, agent: accepted })),
      )
    : [];

  return inPhase('commit', () =>
    does.commitEpoch({
      run,
      epoch: number,
      outputs: { tasks, traces, rewards, scores, decisions, verdicts: fileRefs(verdicts) },
      next: {
        ...state,
        agent: accepted,
        ...(gated && { anchor: gated.anchor }),
        environment: environment.policy,
        history: pools.history,
        train_pool: pools.trainPool,
        environment_pool: pools.environmentPool,
        tokens: state.tokens + sum([...generated, ...sampled], 'tokens'),
      },
      metrics: [
        outcome,
        filtered,
        pools.metrics,
        agent.metrics,
        environment.metrics,
        ...(gated ? [gated.metrics] : []),
      ],
      notes: [agent.note, environment.note, gated?.note ?? null].filter((note) => note !== null),
      retried: sum([...generated, ...sampled, ...verdicts], 'retried'),
      seconds: seconds(),
    }),
  );
}

export const mapShards = <T>(
  shards: number,
  run: (shard: { shard: number; shards: number }) => Promise<T>,
): Promise<T[]> => Promise.all(Array.from({ length: shards }, (_, shard) => run({ shard, shards })));
export const fileRefs = (sampled: readonly Sampling[]): Sampling['file'][] => sampled.map(({ file }) => file);
export const sum = (sampled: readonly Sampling[], what: 'tokens' | 'retried'): number =>
  sampled.reduce((total, sampling) => total + sampling[what], 0);
const unchanged = (policy: PolicyVersion): Trained => ({ policy, metrics: {}, note: null });

/**
 * Epoch 0: warm policies, base and held-out tasks, and the agent's score before any training; with or without
 * Temporal around it. `together`: both policies warm up at once; runs that began before it was so have them
 * in turn.
 */
export async function runPreparation(
  does: EpochActivities,
  { run, settings }: Pick<OpenedEpoch, 'run' | 'settings'>,
  { inPhase, seconds }: StepRunner,
  together = true,
): Promise<CommittedEpoch> {
  const warmUp = (role: PolicyRole) => does.warmUp({ run, role });
  const [agent, environment] = together
    ? await inPhase('warm up', () => Promise.all([warmUp('agent'), warmUp('environment')]))
    : [
        await inPhase('warm up agent', () => warmUp('agent')),
        await inPhase('warm up environment', () => warmUp('environment')),
      ];
  const prepared = await inPhase('prepare', () => does.prepareRun({ run, agent, environment }));
  await inPhase('publish', () =>
    Promise.all([agent, environment].map((policy) => does.publishPolicy({ run, policy }))),
  );
  const written = settings.writesPool
    ? await inPhase('write pool', () => does.writePool({ run, epoch: 0, state: prepared }))
    : undefined;
  const gated =
    settings.gateEvery === undefined
      ? undefined
      : await inPhase('gate', () => does.gateAgent({ run, epoch: 0, state: prepared, agent }));
  const state = {
    ...prepared,
    ...(written && { task_pool: written.pool, tokens: written.tokens }),
    ...(gated && { anchor: gated.anchor }),
  };
  const verdicts = await inPhase('evaluate', () =>
    mapShards(settings.shards.evaluate, (shard) =>
      does.evaluatePolicy({ run, epoch: 0, state, ...shard, agent }),
    ),
  );
  return does.commitEpoch({
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
    metrics: [written?.metrics, gated?.metrics].filter((some) => some !== undefined),
    notes: [],
    retried: sum(verdicts, 'retried'),
    seconds: seconds(),
  });
}
