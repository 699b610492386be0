import {
  archiveDistance,
  distinctShare,
  effectiveGroupRatio,
  inBandShare,
  signalScore,
  splitHalfReliability,
  verdictAgreement,
} from '../coevolution/diagnostics.ts';
import { discrimination } from '../coevolution/guards.ts';
import type { Experiment } from '../config/experiment.ts';
import { successHistogram } from '../numerics/intervals.ts';
import { mean } from '../numerics/arithmetic.ts';
import type { Metrics } from '../types/activity-types.ts';
import type { LabelRecord, RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../types/records.ts';
import { isSolved } from '../worlds/world.ts';
import type { World } from '../worlds/world.ts';

/** What the metrics need of a valid task that was written this epoch. */
type Fresh = Pick<
  ScoreRecord,
  | 'kind'
  | 'difficulty'
  | 'attempts'
  | 'successes'
  | 'success_rate'
  | 'env_reward'
  | 'frozen_rate'
  | 'random_rate'
>;

/**
 * Metrics of an epoch's tasks and rollouts (docs/artifacts.md), gathered while they stream by: sums over
 * rollouts, and a few numbers of each task. Sums run in the order of the records, so that bits do not change.
 */
export class EpochMetrics {
  readonly #experiment: Experiment;
  readonly #world: Pick<World, 'solvedFrom'>;
  readonly #fresh: Fresh[] = [];
  readonly #specs: string[] = [];
  readonly #invalid: string[] = [];
  /**
   * Of each group of the agent, in the order of the traces: its task, and its mean reward over even and odd
   * attempts.
   */
  readonly #halves: { task: number; even: number; odd: number }[] = [];
  readonly #freshTasks = new Set<number>();
  readonly #rewards = new RunningMean();
  readonly #deviations = new RunningMean();
  readonly #flat = new RunningMean();
  readonly #lengths = new RunningMean();
  readonly #correctLengths = new RunningMean();
  readonly #agreements = new RunningMean();
  #written = 0;
  #validWritten = 0;
  #repeats = 0;
  #valid = 0;
  #repairs: number | undefined;
  #labels: { votes: number; unconfirmed: number; disputed: number } | undefined;
  #longest = 0;
  #cutOff = 0;
  #wellFormed = 0;

  constructor(experiment: Experiment, world: Pick<World, 'solvedFrom'>) {
    this.#experiment = experiment;
    this.#world = world;
  }

  /** One group: the traces of a task and role, with their rewards. */
  addGroup(task: number, traces: readonly TraceRecord[], scored: readonly RewardRecord[]): void {
    for (const { reward, second_reward } of scored)
      this.#agreements.add(verdictAgreement([reward], [second_reward])!);
    if (traces[0]?.role !== 'agent') return;
    const rewards = scored.map(({ reward }) => reward);
    this.#deviations.add(deviation(rewards) ?? 0);
    this.#flat.add(Number(rewards.every((reward) => reward === rewards[0])));
    const [even, odd] = [0, 1].map((parity) => mean(rewards.filter((_, index) => index % 2 === parity)));
    // A group of one has no halves.
    if (typeof even === 'number' && typeof odd === 'number') this.#halves.push({ task, even, odd });
    for (const [index, { sampled }] of traces.entries()) {
      const { reward, well_formed } = scored[index]!;
      const length = sampled.mask?.reduce((sum, bit) => sum + bit, 0) ?? sampled.token_ids.length;
      this.#rewards.add(reward);
      this.#lengths.add(length);
      this.#longest = Math.max(this.#longest, length);
      if (isSolved(this.#world, reward)) this.#correctLengths.add(length);
      if (sampled.finish_reason === 'length') this.#cutOff += 1;
      if (well_formed) this.#wellFormed += 1;
    }
  }

  /** A task with its score, in the order of the tasks, after all groups. */
  addTask(
    index: number,
    { source, valid, invalid_reason, spec, repeats, repairs, label }: TaskRecord,
    score: ScoreRecord,
  ): void {
    if (valid) this.#valid += 1;
    if (source !== 'new') return;
    this.#written += 1;
    if (spec !== null) this.#specs.push(spec);
    if (repeats > 0) this.#repeats += 1;
    if (repairs !== undefined) this.#repairs = (this.#repairs ?? 0) + repairs;
    if (label) this.#addLabel(label, invalid_reason);
    if (!valid) {
      this.#invalid.push(invalid_reason);
      return;
    }
    this.#validWritten += 1;
    const { kind, difficulty, attempts, successes, success_rate, env_reward, frozen_rate, random_rate } =
      score;
    this.#fresh.push({
      kind,
      difficulty,
      attempts,
      successes,
      success_rate,
      env_reward,
      frozen_rate,
      random_rate,
    });
    this.#freshTasks.add(index);
  }

  /** @param archive tasks of earlier epochs, for the novelty of this one's. */
  metrics(archive: readonly string[]): Metrics {
    const fresh = this.#fresh;
    const attempts = this.#lengths.count;
    return {
      'env/success_rate': average(fresh.map(({ success_rate }) => success_rate)),
      ...this.#histogram(fresh),
      'env/reward': average(fresh.map(({ env_reward }) => env_reward)),
      'env/in_band_fraction': inBandShare(fresh.map(({ success_rate }) => success_rate)),
      'env/effective_group_ratio': effectiveGroupRatio(fresh),
      'env/signal': signalScore(fresh),
      'env/frozen_success_rate': average(fresh.map(({ frozen_rate }) => frozen_rate)),
      'env/random_success_rate': average(fresh.map(({ random_rate }) => random_rate)),
      'env/discrimination': average(
        fresh.map(({ success_rate, random_rate }) => discrimination(success_rate, random_rate)),
      ),
      'env/verdict_agreement': this.#agreements.value,
      'env/split_half_reliability': this.#reliability(),
      'env/valid_fraction': this.#written === 0 ? null : this.#validWritten / this.#written,
      'env/distinct_fraction': distinctShare(this.#specs),
      'env/duplicates': this.#repeats,
      'env/archive_distance': archiveDistance(this.#specs, archive),
      ...counts('env/invalid', this.#invalid),
      ...(this.#repairs !== undefined && { 'env/repairs': this.#repairs }),
      ...(this.#labels && {
        'env/label_votes': this.#labels.votes,
        'env/labels_unconfirmed': this.#labels.unconfirmed,
        'env/labels_disputed': this.#labels.disputed,
      }),
      'env/difficulty': mean(fresh.map(({ difficulty }) => difficulty)),
      'env/difficulty_sd': deviation(fresh.map(({ difficulty }) => difficulty)),
      'env/difficulty_solved': difficultySolved(fresh),
      ...shares(
        'env/kind',
        fresh.map(({ kind }) => kind),
      ),
      reward: this.#rewards.value,
      reward_std: this.#deviations.value,
      frac_reward_zero_std: this.#flat.value,
      'completions/mean_length': this.#lengths.value,
      'completions/max_length': attempts > 0 ? this.#longest : null,
      'completions/clipped_ratio': attempts > 0 ? this.#cutOff / attempts : null,
      'completions/well_formed_ratio': attempts > 0 ? this.#wellFormed / attempts : null,
      'completions/correct_mean_length': this.#correctLengths.value,
      'rollouts/count': attempts,
      'rollouts/errored': this.#valid * this.#experiment.agent.rolloutsPerTask - attempts,
    };
  }

  #addLabel({ votes, disputed }: LabelRecord, invalidReason: string): void {
    this.#labels ??= { votes: 0, unconfirmed: 0, disputed: 0 };
    this.#labels.votes += votes;
    if (invalidReason === 'label_unconfirmed') this.#labels.unconfirmed += 1;
    if (disputed) this.#labels.disputed += 1;
  }

  #histogram(fresh: readonly Fresh[]): Metrics {
    const { counts: tasks } = successHistogram(fresh, this.#experiment.agent.rolloutsPerTask);
    return Object.fromEntries(tasks.map((count, k) => [`env/success_rate_hist/${k}`, count]));
  }

  /** From the halves alone: attempts with an even and with an odd index, as one attempt each. */
  #reliability(): number | null {
    return splitHalfReliability(
      this.#halves.filter(({ task }) => this.#freshTasks.has(task)).map(({ even, odd }) => [even, odd]),
    );
  }
}

/** Mean of what is added, summed in order; null of nothing. */
class RunningMean {
  count = 0;
  #sum = 0;

  add(value: number): void {
    this.count += 1;
    this.#sum += value;
  }

  get value(): number | null {
    return this.count === 0 ? null : this.#sum / this.count;
  }
}

/** Mean difficulty of the solved attempts. */
function difficultySolved(fresh: readonly Fresh[]): number | null {
  const solved = new RunningMean();
  for (const { difficulty, successes } of fresh)
    for (let success = 0; success < successes; success++) solved.add(difficulty);
  return solved.value;
}

const average = (values: readonly (number | null)[]): number | null =>
  mean(values.filter((value) => value !== null));

/** Standard deviation over the values themselves (not an estimate of a wider one). */
function deviation(values: readonly number[]): number | null {
  const centre = mean(values);
  return centre === null ? null : Math.sqrt(mean(values.map((value) => (value - centre) ** 2))!);
}

function counts(name: string, values: readonly string[]): Metrics {
  const metrics: Metrics = {};
  for (const value of values.toSorted()) metrics[`${name}/${value}`] = (metrics[`${name}/${value}`] ?? 0) + 1;
  return metrics;
}

const shares = (name: string, values: readonly string[]): Metrics =>
  Object.fromEntries(
    Object.entries(counts(name, values)).map(([key, count]) => [key, count! / values.length]),
  );
