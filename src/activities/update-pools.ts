import { updateHistory } from '../coevolution/agent-history.ts';
import { mean } from '../coevolution/domain.ts';
import { extendPool } from '../coevolution/environment-pool.ts';
import { remember, splitByAge } from '../coevolution/environment-memory.ts';
import { learningProgress, updateLearningProgress } from '../coevolution/learning-progress.ts';
import type { UpdatedPools, UpdatePoolsInput } from '../contracts/phases.ts';
import type { EnvironmentPoolRecord, FilterRecord, HistoryRecord, ScoreRecord, SeedTaskRecord, TaskRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';

/** D_train, D_env and the agent's history after this epoch (GenEnv, algorithm 1, phase 3). */
export function createUpdatePools(ports: Ports) {
  return (input: UpdatePoolsInput): Promise<UpdatedPools> =>
    phase(ports, 'pools', input, async ({ experiment }) => {
      const { store } = ports;
      const { epoch, state } = input;
      const { pools } = experiment;
      const tasks = await collect(store.records<TaskRecord>(input.tasks));
      const scores = await collect(store.records<ScoreRecord>(input.scores));
      const kept = new Set((await collect(store.records<FilterRecord>(input.decisions))).filter(({ kept_for_environment }) => kept_for_environment).map(({ task_id }) => task_id));
      const fresh = scores.filter(({ source, valid }) => source === 'new' && valid);

      const records = tasks.flatMap((task, index): EnvironmentPoolRecord[] => {
        const { env_reward, guard } = scores[index]!;
        if (!kept.has(task.id) || task.spec === null || task.sampled === null || env_reward === null) return [];
        return [{ id: task.id, epoch, signature: task.spec, kind: task.kind, history_success: task.history_success, env_reward, guard, sampled: task.sampled }];
      });
      const earlier = await collect(store.records<EnvironmentPoolRecord>(state.environment_pool));
      const { recent, older } = splitByAge(earlier, { epoch, window: pools.environment.window });
      const environmentPool = extendPool([...(pools.environment.memory ? remember(older, pools.environment.memory) : []), ...recent], records);

      const history = await collect(store.records<SeedTaskRecord>(state.train_pool));
      const known = new Set(history.map(({ spec }) => spec));
      const valid = tasks.flatMap(({ id, spec, source, repeats }) => (source === 'new' && spec !== null && repeats === 0 && !known.has(spec) ? [{ id, spec }] : []));
      const trainPool = [...history, ...valid].slice(-pools.train.capacity);

      const before = await store.json<HistoryRecord>(state.history);
      const rates = Object.fromEntries([...new Set(fresh.map(({ kind }) => kind))].map((kind) => [kind, mean(fresh.filter((score) => score.kind === kind).flatMap(({ success_rate }) => (success_rate === null ? [] : [success_rate])))]));
      const after: HistoryRecord = { agent: updateHistory(before.agent, fresh, experiment.history), progress: updateLearningProgress(before.progress, rates) };

      return {
        history: await store.putJson(after),
        trainPool: await store.putRecords(trainPool),
        environmentPool: await store.putRecords(environmentPool),
        metrics: {
          'pool/train_size': trainPool.length,
          'pool/env_size': environmentPool.length,
          'pool/env_mean_age': mean(environmentPool.map((record) => epoch - record.epoch)),
          ...Object.fromEntries(Object.entries(learningProgress(after.progress)).map(([kind, progress]) => [`env/learning_progress/${kind}`, progress])),
        },
      };
    });
}
