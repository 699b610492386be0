import { recall, regressionRecords, repeatsIn, splitByAge } from '../../coevolution/environment-pool.ts';
import { capFamilies, flatRewards } from '../../coevolution/guards.ts';
import { effectiveSampleSize, regressionWeights } from '../../coevolution/regression-weights.ts';
import type { Experiment } from '../../config/experiment.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import { batchRecord, jobSettings } from '../../training/job-settings.ts';
import { trainPolicy } from '../../training/policy-update.ts';
import type { Metrics, Trained, TrainEnvironmentInput } from '../../types/activity-types.ts';
import type { EnvironmentPoolRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** A record of D_env without its text, and where it lies in the pool's file. */
type Entry = Omit<EnvironmentPoolRecord, 'id' | 'sampled'> & { at: number };
type Weighted = { record: Entry; weight: number };

/**
 * Reward-weighted regression on D_env (GenEnv 2.3): what taught the agent most becomes more likely to be
 * written.
 */
export function createTrainEnvironment(dependencies: Dependencies) {
  return (input: TrainEnvironmentInput): Promise<Trained> =>
    runPhaseOnce(dependencies, 'train-environment', input, async (context) => {
      const { experiment } = context;
      const { environment } = experiment;
      const { epoch, state } = input;
      const training = environment.training!;
      const pool: Entry[] = [];
      for await (const {
        epoch: written,
        signature,
        kind,
        history_success,
        env_reward,
        guard,
      } of dependencies.store.records<EnvironmentPoolRecord>(input.environmentPool)) {
        pool.push({ epoch: written, signature, kind, history_success, env_reward, guard, at: pool.length });
      }
      const minSpread = experiment.guards.flatRewards ?? null;
      const rewards = usable(experiment, epoch, pool);
      // Where there is nothing at all, the job says so itself.
      if (minSpread !== null && rewards.length > 0 && flatRewards(rewards, minSpread)) {
        return {
          policy: state.environment,
          metrics: { 'env/steps': 0, 'env/rwr_records': 0 },
          note: `environment: no update (the rewards of its records span less than guards.flatRewards, ${minSpread})`,
        };
      }
      const batches = stepBatches(experiment, epoch, pool);
      const trained = await trainPolicy(dependencies, context, {
        kind: 'rwr',
        role: 'environment',
        epoch,
        model: environment.model,
        start: { path: dependencies.store.path(state.environment.checkpoint!) },
        reference: state.initial_environment,
        trainerState: state.environment.trainer_state,
        batch: await dependencies.store.putRecords(
          batchRecords(dependencies, experiment, input.environmentPool, batches),
        ),
        settings: jobSettings(training),
      });
      return {
        policy: trained.policy,
        metrics: environmentMetrics(trained, batches.flat()),
        note: trained.note,
      };
    });
}

/** Rewards of the recent records that a guard lets through. */
function usable({ pools }: Experiment, epoch: number, pool: readonly Entry[]): number[] {
  const { recent } = splitByAge(pool, { epoch, window: pools.environment.window });
  return recent.filter(({ guard }) => guard > 0).map(({ env_reward }) => env_reward);
}

/** For each step a fresh draw from D_env: recent records without replacement, and some remembered ones. */
function stepBatches(experiment: Experiment, epoch: number, pool: readonly Entry[]): Weighted[][] {
  const { window, deduplicate, memory } = experiment.pools.environment;
  const { stepsPerEpoch, recordsPerStep } = experiment.environment.training!;
  const { recent, older } = splitByAge(pool, { epoch, window });
  const fresh = regressionRecords(recent, { epoch, window, deduplicate });
  const repeatsOf = repeatsIn(pool);
  return Array.from({ length: stepsPerEpoch }, (_, step) => {
    const random = randomStream(deriveSeed(experiment.seed, epoch, 'environment-steps', step));
    const remembered =
      memory === null
        ? []
        : recall(older, memory.recordsPerStep, random).map((record) => ({
            record,
            discount: memory.deduplicate ? 1 / (1 + repeatsOf(record)) : 1,
          }));
    return weigh(experiment, [...random.shuffle(fresh).slice(0, recordsPerStep), ...remembered]);
  });
}

/**
 * Regression weight of each record: exp(λ R_env), less for repeats, nothing where a guard says so, no family
 * above its cap.
 */
function weigh(
  { environment, guards }: Experiment,
  records: readonly { record: Entry; discount: number }[],
): Weighted[] {
  const { lambda, weightClip } = environment.training!;
  const weights = regressionWeights(
    records.map(({ record }) => record.env_reward),
    { lambda, clip: weightClip },
  );
  const guarded = weights.map(
    (weight, index) => weight * records[index]!.discount * records[index]!.record.guard,
  );
  const capped =
    guards.familyCap === null
      ? guarded
      : capFamilies(
          guarded,
          records.map(({ record }) => record.kind),
          guards.familyCap,
        );
  return records.flatMap(({ record }, index) =>
    capped[index]! > 0 ? [{ record, weight: capped[index]! }] : [],
  );
}

/** Of the pool's texts only those that were drawn are in memory. */
async function* batchRecords(
  { store }: Dependencies,
  { world }: Experiment,
  pool: FileRef,
  batches: readonly Weighted[][],
): AsyncGenerator<object> {
  const drawn = new Set(batches.flatMap((batch) => batch.map(({ record }) => record.at)));
  const texts = new Map<number, EnvironmentPoolRecord>();
  let at = 0;
  for await (const record of store.records<EnvironmentPoolRecord>(pool)) {
    if (drawn.has(at)) texts.set(at, record);
    at += 1;
  }
  for (const [step, batch] of batches.entries()) {
    for (const { record, weight } of batch) {
      const { id, sampled } = texts.get(record.at)!;
      yield batchRecord(sampled, { step, group_id: id, env_name: world.type, advantage: 0, weight });
    }
  }
}

function environmentMetrics(
  { metrics, result }: Awaited<ReturnType<typeof trainPolicy>>,
  weighted: readonly Weighted[],
): Metrics {
  const weights = weighted.map(({ weight }) => weight);
  return {
    'env/loss': metrics.loss ?? null,
    'env/grad_norm': metrics.grad_norm ?? null,
    'env/kl': result.kl.after,
    'env/steps': result.steps_done,
    'env/rwr_records': weights.length,
    'env/rwr_ess': effectiveSampleSize(weights),
    'env/rwr_weight_max': weights.length > 0 ? Math.max(...weights) : null,
  };
}
