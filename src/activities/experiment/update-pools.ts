import { collect, zip } from '../../async/streams.ts';
import { updateHistory } from '../../coevolution/agent-history.ts';
import type { TaskOutcome } from '../../coevolution/agent-history.ts';
import { openWindow, updateWindow } from '../../coevolution/arms/difficulty-window.ts';
import { learningProgress, updateLearningProgress } from '../../coevolution/diagnostics.ts';
import { extendPool, remember, splitByAge } from '../../coevolution/environment-pool.ts';
import { starvedEpochs } from '../../coevolution/guards.ts';
import type { Arm } from '../../config/arms.ts';
import type { Experiment } from '../../config/experiment.ts';
import { mean } from '../../numerics/arithmetic.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { UpdatedPools, UpdatePoolsInput } from '../../types/activity-types.ts';
import type {
  EnvironmentPoolRecord,
  FilterRecord,
  HistoryRecord,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
} from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * A record of D_env without its text: what decides whether it stays, and where it lies in the file it comes
 * from.
 */
type Entry = Pick<
  EnvironmentPoolRecord,
  'epoch' | 'signature' | 'env_reward' | 'history_success' | 'guard'
> & { at: number };

/**
 * D_train, D_env and the agent's history after this epoch (GenEnv, algorithm 1, phase 3). Records stream
 * through.
 */
export function createUpdatePools(dependencies: Dependencies) {
  return (input: UpdatePoolsInput): Promise<UpdatedPools> =>
    runPhaseOnce(dependencies, 'pools', input, async ({ experiment, world }) => {
      const { store } = dependencies;
      const { epoch, state } = input;
      const { pools } = experiment;

      const history = await collect(store.records<SeedTaskRecord>(state.train_pool));
      const known = new Set(history.map(({ spec }) => spec));
      const valid: SeedTaskRecord[] = [];
      const outcomes: (TaskOutcome & Pick<ScoreRecord, 'success_rate'>)[] = [];
      const written: Entry[] = [];
      let at = 0;
      for await (const [
        { id, spec, source, repeats },
        { kind, difficulty, attempts, successes, success_rate, valid: isValid, failure },
        record,
      ] of judged(dependencies, input)) {
        if (source === 'new' && spec !== null && repeats === 0 && !known.has(spec)) valid.push({ id, spec });
        if (source === 'new' && isValid)
          outcomes.push({
            kind,
            difficulty,
            attempts,
            successes,
            success_rate,
            ...(world.signature && spec !== null && { signature: world.signature(spec) }),
            ...(failure !== undefined && { failure }),
          });
        if (record !== undefined) written.push(entry(record, at));
        at += 1;
      }
      const trainPool = [...history, ...valid].slice(-pools.train.capacity);

      const earlier: Entry[] = [];
      for await (const record of store.records<EnvironmentPoolRecord>(state.environment_pool))
        earlier.push(entry(record, earlier.length));
      const { recent, older } = splitByAge(earlier, { epoch, window: pools.environment.window });
      const stay = [
        ...(pools.environment.memory ? remember(older, pools.environment.memory) : []),
        ...recent,
      ];
      const entries = extendPool(stay, written);
      // A pool is in the order of its epochs, so what is old comes before what is recent in the file too.
      const environmentPool = await store.putRecords(
        (async function* (): AsyncGenerator<EnvironmentPoolRecord> {
          const places = new Set(stay.map((one) => one.at));
          let place = 0;
          for await (const record of store.records<EnvironmentPoolRecord>(state.environment_pool))
            if (places.has(place++)) yield record;
          for await (const [, , record] of judged(dependencies, input))
            if (record !== undefined) yield record;
        })(),
      );

      const before = await store.json<HistoryRecord>(state.history);
      const rates = Object.fromEntries(
        [...ratesByKind(outcomes)].map(([kind, values]) => [kind, mean(values)]),
      );
      const after: HistoryRecord = {
        agent: updateHistory(before.agent, outcomes, experiment.history),
        progress: updateLearningProgress(before.progress, rates),
        ...armHistory(experiment.arm, before, outcomes, epoch),
        ...starvation(experiment, before, written),
      };

      return {
        history: await store.putJson(after),
        trainPool: await store.putRecords(trainPool),
        environmentPool,
        metrics: {
          'pool/train_size': trainPool.length,
          'pool/env_size': entries.length,
          ...(after.starved === undefined ? {} : { 'env/starved_epochs': after.starved }),
          'pool/env_mean_age': mean(entries.map((one) => epoch - one.epoch)),
          ...Object.fromEntries(
            Object.entries(learningProgress(after.progress)).map(([kind, progress]) => [
              `env/learning_progress/${kind}`,
              progress,
            ]),
          ),
        },
      };
    });
}

/**
 * The epoch's tasks, each with its score and, where the environment's update may use it, its record of D_env.
 */
async function* judged(
  { store }: Dependencies,
  { epoch, tasks, scores, decisions }: UpdatePoolsInput,
): AsyncGenerator<[TaskRecord, ScoreRecord, EnvironmentPoolRecord | undefined]> {
  for await (const [[task, score], { kept_for_environment }] of zip(
    zip(store.records<TaskRecord>(tasks), store.records<ScoreRecord>(scores)),
    store.records<FilterRecord>(decisions),
  )) {
    const { id, spec, kind, history_success, sampled } = task;
    const { env_reward, guard } = score;
    const usable = kept_for_environment && spec !== null && sampled !== null && env_reward !== null;
    yield [
      task,
      score,
      usable ? { id, epoch, signature: spec, kind, history_success, env_reward, guard, sampled } : undefined,
    ];
  }
}

const entry = (
  { epoch, signature, env_reward, history_success, guard }: EnvironmentPoolRecord,
  at: number,
): Entry => ({ epoch, signature, env_reward, history_success, guard, at });

function ratesByKind(outcomes: readonly Pick<ScoreRecord, 'kind' | 'success_rate'>[]): Map<string, number[]> {
  const rates = new Map<string, number[]>();
  for (const { kind, success_rate } of outcomes) {
    if (!rates.has(kind)) rates.set(kind, []);
    if (success_rate !== null) rates.get(kind)!.push(success_rate);
  }
  return rates;
}

/** What an arm of its own carries from epoch to epoch. */
function armHistory(
  arm: Arm,
  before: HistoryRecord,
  fresh: readonly TaskOutcome[],
  epoch: number,
): Pick<HistoryRecord, 'outcomes' | 'window'> {
  if (arm.type === 'window') return { window: updateWindow(before.window ?? openWindow(arm), fresh, arm) };
  if (arm.type !== 'selection' && arm.type !== 'best-of-n') return {};
  const recent = (before.outcomes ?? []).filter((outcome) => epoch - outcome.epoch < arm.memory);
  return {
    outcomes: [
      ...recent,
      ...fresh.map(({ kind, difficulty, successes, attempts }) => ({
        epoch,
        kind,
        difficulty,
        successes,
        attempts,
      })),
    ],
  };
}

/** Counted where somebody acts on it. */
function starvation(
  { guards, environment }: Experiment,
  { starved = 0 }: HistoryRecord,
  records: readonly Entry[],
): Pick<HistoryRecord, 'starved'> {
  if (guards.starvedAfter === undefined || guards.starvedAfter === null || environment.training === null)
    return {};
  return {
    starved: starvedEpochs(
      starved,
      records.filter(({ guard }) => guard > 0).map(({ env_reward }) => env_reward),
      guards.flatRewards ?? 0,
    ),
  };
}
