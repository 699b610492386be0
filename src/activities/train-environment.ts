import { recall, splitByAge } from '../coevolution/environment-memory.ts';
import { regressionRecords } from '../coevolution/environment-pool.ts';
import { effectiveSampleSize } from '../coevolution/effective-sample-size.ts';
import { capFamilies } from '../coevolution/family-cap.ts';
import { regressionWeights } from '../coevolution/regression-weights.ts';
import { deriveSeed, randomStream } from '../coevolution/seeds.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Metrics, Trained, TrainEnvironmentInput } from '../contracts/phases.ts';
import type { EnvironmentPoolRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import { batchRecord } from './batch-record.ts';
import { phase } from './phase.ts';
import type { Ports } from './ports.ts';
import { jobSettings, trainPolicy } from './train-policy.ts';

type Weighted = { record: EnvironmentPoolRecord; weight: number };

/** Reward-weighted regression on D_env (GenEnv 2.3): what taught the agent most becomes more likely to be written. */
export function createTrainEnvironment(ports: Ports) {
  return (input: TrainEnvironmentInput): Promise<Trained> =>
    phase(ports, 'train-environment', input, async (context) => {
      const { experiment } = context;
      const { environment } = experiment;
      const { epoch, state } = input;
      const training = environment.training!;
      const pool = await collect(ports.store.records<EnvironmentPoolRecord>(input.environmentPool));
      const batches = stepBatches(experiment, epoch, pool);
      const trained = await trainPolicy(ports, context, {
        kind: 'rwr',
        role: 'environment',
        epoch,
        model: environment.model,
        start: { path: ports.store.path(state.environment.checkpoint!) },
        reference: state.initial_environment,
        trainerState: state.environment.trainer_state,
        batch: await ports.store.putRecords(batchRecords(experiment, batches)),
        settings: jobSettings(training),
      });
      return { policy: trained.policy, metrics: environmentMetrics(trained, batches.flat()), note: trained.note };
    });
}

/** For each step a fresh draw from D_env: recent records without replacement, and some remembered ones. */
function stepBatches(experiment: Experiment, epoch: number, pool: readonly EnvironmentPoolRecord[]): Weighted[][] {
  const { window, deduplicate, memory } = experiment.pools.environment;
  const { stepsPerEpoch, recordsPerStep } = experiment.environment.training!;
  const { recent, older } = splitByAge(pool, { epoch, window });
  const fresh = regressionRecords(recent, { epoch, window, deduplicate });
  return Array.from({ length: stepsPerEpoch }, (_, step) => {
    const random = randomStream(deriveSeed(experiment.seed, epoch, 'environment-steps', step));
    const remembered = memory === null ? [] : recall(older, memory.recordsPerStep, random).map((record) => ({ record, discount: 1 }));
    return weigh(experiment, [...random.shuffle(fresh).slice(0, recordsPerStep), ...remembered]);
  });
}

/** Regression weight of each record: exp(λ R_env), less for repeats, nothing where a guard says so, no family above its cap. */
function weigh({ environment, guards }: Experiment, records: readonly { record: EnvironmentPoolRecord; discount: number }[]): Weighted[] {
  const { lambda, weightClip } = environment.training!;
  const weights = regressionWeights(records.map(({ record }) => record.env_reward), { lambda, clip: weightClip });
  const guarded = weights.map((weight, index) => weight * records[index]!.discount * records[index]!.record.guard);
  const capped = guards.familyCap === null ? guarded : capFamilies(guarded, records.map(({ record }) => record.kind), guards.familyCap);
  return records.flatMap(({ record }, index) => (capped[index]! > 0 ? [{ record, weight: capped[index]! }] : []));
}

function* batchRecords({ world }: Experiment, batches: readonly Weighted[][]): Generator<object> {
  for (const [step, batch] of batches.entries()) {
    for (const { record, weight } of batch) yield batchRecord(record.sampled, { step, group_id: record.id, env_name: world.type, advantage: 0, weight });
  }
}

function environmentMetrics({ metrics, result }: Awaited<ReturnType<typeof trainPolicy>>, weighted: readonly Weighted[]): Metrics {
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
