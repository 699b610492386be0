import { recall, regressionRecords, repeatsIn, splitByAge } from '../../coevolution/environment-pool.ts';
import type { RegressionRecord } from '../../coevolution/environment-pool.ts';
import { cutIntoSteps, stepCount } from '../../coevolution/optimizer-steps.ts';
import { capFamilies, hasFlatRewards, leastRewardSpread } from '../../coevolution/guards.ts';
import { effectiveSampleSize, regressionWeights } from '../../coevolution/regression-weights.ts';
import type { Experiment } from '../../config/experiment.ts';
import { putServersToSleep } from '../../inference/sleeping-servers.ts';
import { deriveSeed, randomStream } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { runPhaseOnce } from '../../runtime/run-once.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import { batchRecord, hasSampledTokens, jobSettings } from '../../training/job-settings.ts';
import type { TrainingRecord } from '../../training/job-settings.ts';
import { keepsPolicyWithoutSignal, LearnableBatch } from '../../training/learnable-batch.ts';
import type { UpdateSummary } from '../../training/learnable-batch.ts';
import { trainPolicy, updateNote } from '../../training/policy-update.ts';
import type { TrainEnvironmentInput } from '../../types/activity-inputs.ts';
import type { Trained } from '../../types/activity-types.ts';
import type { Metrics } from '../../types/run-state.ts';
import type { EnvironmentPoolRecord } from '../../types/records.ts';
import type { Dependencies } from '../dependencies.ts';

/** A record of D_env without its text, and its place in the pool's file. */
type PoolEntry = Omit<EnvironmentPoolRecord, 'id' | 'sampled'> & { at: number };
/** An entry with its regression weight. */
type WeightedEntry = { record: PoolEntry; weight: number };
/** An entry with a factor on its weight. */
type DiscountedEntry = Pick<RegressionRecord<PoolEntry>, 'record' | 'discount'>;

/**
 * Trains the simulator by reward-weighted regression on D_env (GenEnv 2.3): tasks whose success rate was
 * nearest to α become more likely to be written.
 */
export function createTrainSimulator(dependencies: Dependencies) {
  return (input: TrainEnvironmentInput): Promise<Trained> =>
    runPhaseOnce(dependencies, 'train-environment', input, async (context) => {
      const { experiment } = context;
      const { environment, pools } = experiment;
      const { epoch, state, policy: current = input.state.environment } = input;
      const training = environment.training!;
      const pool = await readPool(dependencies.store, input.environmentPool);
      const { recent } = splitByAge(pool, { epoch, window: pools.environment.window });
      const rewards = recent.filter(({ guard }) => guard > 0).map(({ env_reward }) => env_reward);
      const minSpread = leastRewardSpread(experiment, rewards);
      // Without a new record those that are remembered are left, or an empty batch, which the trainer notes.
      if (minSpread !== null && rewards.length > 0 && hasFlatRewards(rewards, minSpread)) {
        return {
          policy: current,
          metrics: { 'env/steps': 0, 'env/rwr_records': 0 },
          note: `environment: no update (the rewards of its records span less than guards.flatRewards, ${minSpread})`,
        };
      }
      const batches = drawStepBatches(experiment, epoch, pool);
      const learnable = new LearnableBatch(0);
      const batch = await dependencies.store.putRecords(
        learnable.watch(batchRecords(dependencies.store, experiment, input.environmentPool, batches)),
      );
      const skipped = keepsPolicyWithoutSignal(experiment, 'environment') ? learnable.skipped() : null;
      if (skipped !== null)
        return {
          policy: current,
          metrics: simulatorMetrics({ metrics: {}, result: skipped }, batches.flat()),
          note: updateNote('environment', skipped),
        };
      await putServersToSleep(dependencies, experiment.serving);
      const trained = await trainPolicy(dependencies, context, {
        kind: 'rwr',
        phase: { run: input.run.id, name: 'train environment' },
        role: 'environment',
        epoch,
        model: environment.model,
        start: { path: await dependencies.store.localPath(current.checkpoint!) },
        reference: state.initial_environment,
        trainerState: current.trainer_state,
        batch,
        settings: jobSettings(training),
      });
      return {
        policy: trained.policy,
        metrics: simulatorMetrics(trained, batches.flat()),
        note: trained.note,
      };
    });
}

async function readPool(store: ObjectStore, file: FileRef): Promise<PoolEntry[]> {
  const pool: PoolEntry[] = [];
  for await (const record of store.records<EnvironmentPoolRecord>(file)) {
    const { epoch, signature, kind, history_success, env_reward, guard } = record;
    pool.push({ epoch, signature, kind, history_success, env_reward, guard, at: pool.length });
  }
  return pool;
}

/**
 * Draws the batch of each step from D_env: recent records, and some older ones. Each step has a fresh
 * draw without replacement, or, if no number of steps is set, the steps are one pass over all recent records.
 */
function drawStepBatches(
  experiment: Experiment,
  epoch: number,
  pool: readonly PoolEntry[],
): WeightedEntry[][] {
  const { window, deduplicate, memory } = experiment.pools.environment;
  const { stepsPerEpoch, recordsPerStep } = experiment.environment.training!;
  const { recent, older } = splitByAge(pool, { epoch, window });
  const candidates = regressionRecords(recent, { epoch, window, deduplicate });
  const repeatsOf = repeatsIn(pool);
  const recallOlder = (random: RandomStream): DiscountedEntry[] => {
    if (memory === null) return [];
    return recall(older, memory.recordsPerStep, random).map((record) => ({
      record,
      discount: memory.deduplicate ? 1 / (1 + repeatsOf(record)) : 1,
    }));
  };
  const steps = stepCount(candidates.length, { steps: stepsPerEpoch, size: recordsPerStep });
  const pass = randomStream(deriveSeed(experiment.seed, epoch, 'environment-pass'));
  const batches = stepsPerEpoch !== null ? [] : cutIntoSteps(pass.shuffle(candidates), steps);
  return Array.from({ length: steps }, (_, step) => {
    const random = randomStream(deriveSeed(experiment.seed, epoch, 'environment-steps', step));
    const remembered = recallOlder(random);
    const drawn = batches[step] ?? random.shuffle(candidates).slice(0, recordsPerStep);
    return weighEntries(experiment, [...drawn, ...remembered]);
  });
}

/**
 * Weighs entries: exp(λ R_env), discounted, times the guards' factor, with the share of each family capped.
 * Entries of weight 0 are left out.
 */
function weighEntries(
  { environment, guards }: Experiment,
  discounted: readonly DiscountedEntry[],
): WeightedEntry[] {
  const { lambda, weightClip } = environment.training!;
  const entries = discounted.map(({ record }) => record);
  const rewards = entries.map(({ env_reward }) => env_reward);
  const raw = regressionWeights(rewards, { lambda, clip: weightClip });
  const guarded = discounted.map(({ record, discount }, index) => raw[index]! * discount * record.guard);
  const families = entries.map(({ kind }) => kind);
  const weights = guards.familyCap === null ? guarded : capFamilies(guarded, families, guards.familyCap);
  return entries
    .map((record, index) => ({ record, weight: weights[index]! }))
    .filter(({ weight }) => weight > 0);
}

/** Reads the texts of the drawn entries only: those of the whole pool would not fit into memory. */
async function* batchRecords(
  store: ObjectStore,
  { world }: Experiment,
  pool: FileRef,
  batches: readonly WeightedEntry[][],
): AsyncGenerator<TrainingRecord> {
  const drawn = new Set(batches.flat().map(({ record }) => record.at));
  const samples = new Map<number, EnvironmentPoolRecord>();
  let at = 0;
  for await (const record of store.records<EnvironmentPoolRecord>(pool)) {
    if (drawn.has(at)) samples.set(at, record);
    at += 1;
  }
  for (const [step, batch] of batches.entries()) {
    for (const { record, weight } of batch) {
      const { id, sampled } = samples.get(record.at)!;
      if (hasSampledTokens(sampled))
        yield batchRecord(sampled, { step, group_id: id, env_name: world.type, advantage: 0, weight });
    }
  }
}

function simulatorMetrics(
  { metrics, result }: { metrics: Metrics; result: UpdateSummary },
  weighted: readonly WeightedEntry[],
): Metrics {
  const weights = weighted.map(({ weight }) => weight);
  return {
    'env/loss': metrics.loss ?? null,
    'env/grad_norm': metrics.grad_norm ?? null,
    // Without a cap on it the distance is not measured; the KL term's own value stands in for it.
    'env/kl': result.kl.after ?? (metrics.step_kl === undefined ? null : (metrics.kl ?? null)),
    'env/kl_capped': result.skipped === null ? Number(result.kl.rule !== 'none') : null,
    ...(metrics.step_kl !== undefined && {
      'env/step_kl': metrics.step_kl,
      'env/step_share': metrics.step_share ?? null,
    }),
    'env/steps': result.steps_done,
    'env/rwr_records': weights.length,
    'env/rwr_ess': effectiveSampleSize(weights),
    'env/rwr_weight_max': weights.length > 0 ? weights.reduce((a, b) => Math.max(a, b)) : null,
  };
}
