import { collect, zipRecords } from '../../async/streams.ts';
import { updateHistory } from '../../coevolution/agent-history.ts';
import type { TaskOutcome } from '../../coevolution/agent-history.ts';
import { openOracle, updateOracle } from '../../coevolution/arms/difficulty-oracle.ts';
import { openWindow, updateWindow } from '../../coevolution/arms/difficulty-window.ts';
import type { ObservedOutcome } from '../../coevolution/arms/selection.ts';
import { MAX_TEXT } from '../../coevolution/arms/text-predictor.ts';
import { learningProgress, updateLearningProgress } from '../../coevolution/diagnostics.ts';
import { extendPool, remember, splitByAge } from '../../coevolution/environment-pool.ts';
import { leastRewardSpread, starvedEpochs } from '../../coevolution/guards.ts';
import { historySettings } from '../../config/experiment.ts';
import type { Experiment } from '../../config/experiment.ts';
import { mean } from '../../numerics/arithmetic.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { UpdatePoolsInput } from '../../types/activity-inputs.ts';
import type { UpdatedPools } from '../../types/activity-types.ts';
import type { Metrics } from '../../types/run-state.ts';
import type {
  EnvironmentPoolRecord,
  FilterRecord,
  HistoryRecord,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
} from '../../types/records.ts';
import type { TaskSpec, World } from '../../worlds/world.ts';
import type { Dependencies } from '../dependencies.ts';

/** A record of D_env without its text: what decides whether it stays, and its place in the file. */
type PoolEntry = Pick<
  EnvironmentPoolRecord,
  'epoch' | 'signature' | 'env_reward' | 'history_success' | 'guard'
> & { at: number };

type MeasuredOutcome = TaskOutcome & Pick<ScoreRecord, 'success_rate'> & { spec: TaskSpec };

/**
 * Updates D_train, D_env and the agent's history after an epoch (GenEnv, algorithm 1, phase 3). Records
 * stream through.
 */
export function createUpdatePools(dependencies: Dependencies) {
  return (input: UpdatePoolsInput): Promise<UpdatedPools> =>
    runPhaseOnce(dependencies, 'pools', input, async ({ experiment, world }) => {
      const { store } = dependencies;
      const { epoch, state } = input;
      const { pools } = experiment;

      const history = await collect(store.records<SeedTaskRecord>(state.train_pool));
      const { newTasks, outcomes, written } = await readEpoch(store, world, input, history);
      const trainPool = [...history, ...newTasks].slice(-pools.train.capacity);

      const earlier: PoolEntry[] = [];
      for await (const record of store.records<EnvironmentPoolRecord>(state.environment_pool))
        earlier.push(poolEntry(record, earlier.length));
      const { recent, older } = splitByAge(earlier, { epoch, window: pools.environment.window });
      const remembered = pools.environment.memory ? remember(older, pools.environment.memory) : [];
      const kept = [...remembered, ...recent];
      const entries = extendPool(kept, written);
      const environmentPool = await store.putRecords(environmentPoolRecords(store, input, kept));

      const before = await store.json<HistoryRecord>(state.history);
      const after: HistoryRecord = {
        agent: updateHistory(before.agent, outcomes, historySettings(experiment)),
        progress: updateLearningProgress(before.progress, meanRatesByKind(outcomes)),
        ...armHistory(experiment, before, outcomes, epoch),
        ...starvation(experiment, before, written),
      };

      return {
        history: await store.putJson(after),
        trainPool: await store.putRecords(trainPool),
        environmentPool,
        metrics: {
          'pool/train_size': trainPool.length,
          'pool/env_size': entries.length,
          ...(after.starved !== undefined && { 'env/starved_epochs': after.starved }),
          'pool/env_mean_age': mean(entries.map((entry) => epoch - entry.epoch)),
          ...learningProgressMetrics(after.progress),
        },
      };
    });
}

/**
 * The epoch's new tasks that the history has not yet, the outcomes of its valid ones, and its records of
 * D_env.
 */
async function readEpoch(
  store: ObjectStore,
  world: World,
  input: UpdatePoolsInput,
  history: readonly SeedTaskRecord[],
): Promise<{ newTasks: SeedTaskRecord[]; outcomes: MeasuredOutcome[]; written: PoolEntry[] }> {
  const specsOfHistory = new Set(history.map(({ spec }) => spec));
  const newTasks: SeedTaskRecord[] = [];
  const outcomes: MeasuredOutcome[] = [];
  const written: PoolEntry[] = [];
  let at = 0;
  for await (const [task, score, record] of judgedTasks(store, input)) {
    const { id, spec, source, repeats } = task;
    if (source === 'new' && spec !== null && repeats === 0 && !specsOfHistory.has(spec))
      newTasks.push({ id, spec });
    if (source === 'new' && score.valid && spec !== null) outcomes.push(outcomeOf(world, spec, score));
    if (record !== undefined) written.push(poolEntry(record, at));
    at += 1;
  }
  return { newTasks, outcomes, written };
}

function outcomeOf(world: World, spec: TaskSpec, score: ScoreRecord): MeasuredOutcome {
  const { kind, difficulty, attempts, successes, success_rate, failure } = score;
  return {
    kind,
    difficulty,
    attempts,
    successes,
    success_rate,
    spec,
    ...(world.signature && { signature: world.signature(spec) }),
    ...(failure !== undefined && { failure }),
  };
}

/** Each task of the epoch with its score, and with its record of D_env if the simulator may learn from it. */
async function* judgedTasks(
  store: ObjectStore,
  { epoch, tasks, scores, decisions }: UpdatePoolsInput,
): AsyncGenerator<[TaskRecord, ScoreRecord, EnvironmentPoolRecord | undefined]> {
  const rows = zipRecords(
    store.records<TaskRecord>(tasks),
    store.records<ScoreRecord>(scores),
    store.records<FilterRecord>(decisions),
  );
  for await (const [task, score, decision] of rows) {
    const { id, spec, kind, history_success, sampled } = task;
    const { env_reward, guard } = score;
    const isUsable =
      decision.kept_for_environment && spec !== null && sampled !== null && env_reward !== null;
    const record = isUsable
      ? { id, epoch, signature: spec, kind, history_success, env_reward, guard, sampled }
      : undefined;
    yield [task, score, record];
  }
}

/** A pool is in the order of its epochs, so the file has what is kept before what is new. */
async function* environmentPoolRecords(
  store: ObjectStore,
  input: UpdatePoolsInput,
  kept: readonly PoolEntry[],
): AsyncGenerator<EnvironmentPoolRecord> {
  const keptPlaces = new Set(kept.map(({ at }) => at));
  let at = 0;
  for await (const record of store.records<EnvironmentPoolRecord>(input.state.environment_pool)) {
    if (keptPlaces.has(at)) yield record;
    at += 1;
  }
  for await (const [, , record] of judgedTasks(store, input)) if (record !== undefined) yield record;
}

const poolEntry = (
  { epoch, signature, env_reward, history_success, guard }: EnvironmentPoolRecord,
  at: number,
): PoolEntry => ({ epoch, signature, env_reward, history_success, guard, at });

function meanRatesByKind(outcomes: readonly MeasuredOutcome[]): Record<string, number | null> {
  const rates = new Map<string, number[]>();
  for (const { kind, success_rate } of outcomes) {
    if (!rates.has(kind)) rates.set(kind, []);
    if (success_rate !== null) rates.get(kind)!.push(success_rate);
  }
  return Object.fromEntries([...rates].map(([kind, values]) => [kind, mean(values)]));
}

function learningProgressMetrics(state: HistoryRecord['progress']): Metrics {
  const byKind = Object.entries(learningProgress(state));
  return Object.fromEntries(byKind.map(([kind, progress]) => [`env/learning_progress/${kind}`, progress]));
}

/** What the arms `window`, `oracle`, `selection` and `best-of-n` carry from epoch to epoch. */
function armHistory(
  { arm, difficulty }: Pick<Experiment, 'arm' | 'difficulty'>,
  before: HistoryRecord,
  epochOutcomes: readonly MeasuredOutcome[],
  epoch: number,
): Pick<HistoryRecord, 'outcomes' | 'window' | 'oracle'> {
  if (arm.type === 'window')
    return { window: updateWindow(before.window ?? openWindow(arm), epochOutcomes, arm) };
  if (arm.type === 'oracle') {
    const settings = { ...arm, alpha: difficulty.alpha };
    return { oracle: updateOracle(before.oracle ?? openOracle(arm), epochOutcomes, settings) };
  }
  if (arm.type !== 'selection' && arm.type !== 'best-of-n') return {};
  const recent = (before.outcomes ?? []).filter((outcome) => epoch - outcome.epoch < arm.memory);
  const observed = epochOutcomes.map(({ kind, difficulty, successes, attempts, spec }): ObservedOutcome => ({
    epoch,
    kind,
    difficulty,
    successes,
    attempts,
    ...(arm.predictor === 'text' && { text: spec.slice(0, MAX_TEXT) }),
  }));
  return { outcomes: [...recent, ...observed] };
}

/** Counted only if a setting acts on it. */
function starvation(
  experiment: Experiment,
  { starved = 0 }: HistoryRecord,
  written: readonly PoolEntry[],
): Pick<HistoryRecord, 'starved'> {
  const { guards, environment } = experiment;
  if (guards.starvedAfter === undefined || guards.starvedAfter === null || environment.training === null)
    return {};
  const guarded = written.filter(({ guard }) => guard > 0);
  const rewards = guarded.map(({ env_reward }) => env_reward);
  return { starved: starvedEpochs(starved, rewards, leastRewardSpread(experiment, rewards) ?? 0) };
}
