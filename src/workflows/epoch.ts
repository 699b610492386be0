import { condition, setHandler } from '@temporalio/workflow';
import type { Committed, PolicyVersion, Run, RunState, Sampling, Trained, WorkflowSettings } from '../contracts/phases.ts';
import { epochProgressQuery, pausedSignal } from './messages.ts';
import { phases } from './phases.ts';
import { Stopwatch } from './stopwatch.ts';

export interface EpochInput {
  run: Run;
  settings: WorkflowSettings;
  epoch: number;
  state: RunState;
  /** Whether to wait before the first phase until told to go on. */
  paused: boolean;
}

/** One epoch of co-evolution: GenEnv, algorithm 1. A pause takes effect before the next phase. */
export async function epoch({ run, settings, epoch: number, state, paused: pausedAtStart }: EpochInput): Promise<Committed> {
  const does = phases(settings);
  const { trains, shards } = settings;
  const watch = new Stopwatch();
  let rolloutsDone = 0;
  let paused = pausedAtStart;
  setHandler(pausedSignal, (asked) => void (paused = asked));
  setHandler(epochProgressQuery, () => ({ phase: watch.phase, paused, rolloutsDone }));
  const here = { run, epoch: number, state };
  const inPhase = async <T>(phase: string, work: () => Promise<T>): Promise<T> => {
    await condition(() => !paused);
    return watch.time(phase, work);
  };

  const generated = await inPhase('generate', () => inShards(shards.generate, (shard) => does.generateTasks({ ...here, ...shard })));
  const tasks = await inPhase('draw', () => does.drawTasks({ ...here, generated: files(generated) }));
  const rolledOut = await inPhase('roll out', () =>
    inShards(shards.rollOut, async (shard) => {
      const traces = await does.rollOut({ ...here, ...shard, tasks });
      rolloutsDone += traces.file.count;
      return traces;
    }),
  );
  const traces = files(rolledOut);
  const { rewards, scores, metrics: outcome } = await inPhase('reward', () => does.computeRewards({ ...here, tasks, traces }));
  const { decisions, metrics: filtered } = await inPhase('filter', () => does.filterByDifficulty({ ...here, scores }));
  const pools = await inPhase('pools', () => does.updatePools({ ...here, tasks, scores, decisions }));
  const agent = trains.agent ? await inPhase('train agent', () => does.trainAgent({ ...here, traces, rewards, scores, decisions })) : unchanged(state.agent);
  const environment = trains.environment ? await inPhase('train environment', () => does.trainEnvironment({ ...here, environmentPool: pools.environmentPool, decisions })) : unchanged(state.environment);
  await inPhase('publish', () => Promise.all([agent, environment].map(({ policy }) => does.publishPolicy({ run, policy }))));
  const gates = settings.gateEvery !== undefined && (number % settings.gateEvery === 0 || number === settings.epochs);
  const gated = gates ? await inPhase('gate', () => does.gateAgent({ ...here, agent: agent.policy })) : undefined;
  const accepted = gated?.agent ?? agent.policy;
  const evaluates = number % settings.evaluateEvery === 0 || number === settings.epochs;
  const verdicts = evaluates ? await inPhase('evaluate', () => inShards(shards.evaluate, (shard) => does.evaluatePolicy({ ...here, ...shard, agent: accepted }))) : [];

  return inPhase('commit', () =>
    does.commitEpoch({
      run,
      epoch: number,
      outputs: { tasks, traces, rewards, scores, decisions, verdicts: files(verdicts) },
      next: {
        ...state,
        agent: accepted,
        ...(gated && { anchor: gated.anchor }),
        environment: environment.policy,
        history: pools.history,
        train_pool: pools.trainPool,
        environment_pool: pools.environmentPool,
        tokens: state.tokens + sum([...generated, ...rolledOut], 'tokens'),
      },
      metrics: [outcome, filtered, pools.metrics, agent.metrics, environment.metrics, ...(gated ? [gated.metrics] : [])],
      notes: [agent.note, environment.note, gated?.note ?? null].filter((note) => note !== null),
      retried: sum([...generated, ...rolledOut, ...verdicts], 'retried'),
      seconds: watch.total(),
    }),
  );
}

const inShards = <T>(shards: number, run: (shard: { shard: number; shards: number }) => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: shards }, (_, shard) => run({ shard, shards })));
const files = (sampled: readonly Sampling[]): Sampling['file'][] => sampled.map(({ file }) => file);
const sum = (sampled: readonly Sampling[], what: 'tokens' | 'retried'): number => sampled.reduce((total, sampling) => total + sampling[what], 0);
const unchanged = (policy: PolicyVersion): Trained => ({ policy, metrics: {}, note: null });
