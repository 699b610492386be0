import type { TimeSlices } from '../async/time-slices.ts';
import {
  effectiveGroupRatio,
  signalScore,
  splitHalfReliability,
  verdictAgreement,
} from '../coevolution/diagnostics.ts';
import { calibrationError, inBandShare } from '../coevolution/success-band.ts';
import { archiveDistance, distinctShare } from '../coevolution/novelty.ts';
import { discrimination } from '../coevolution/guards.ts';
import type { Experiment } from '../config/experiment.ts';
import { HELD_OUT } from '../curriculum/held-out-tasks.ts';
import { mean } from '../numerics/arithmetic.ts';
import { successHistogram } from '../numerics/intervals.ts';
import type { Metrics } from '../types/run-state.ts';
import type {
  LabelRecord,
  RewardRecord,
  Sampled,
  ScoreRecord,
  TaskRecord,
  TraceRecord,
} from '../types/records.ts';
import { isSolved } from '../worlds/world.ts';
import type { World } from '../worlds/world.ts';
import {
  average,
  countsByName,
  ratio,
  RunningMean,
  sharesByName,
  standardDeviation,
} from './metric-values.ts';

/** What the metrics need of a valid task that was written this epoch. */
type WrittenTask = Pick<
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
 * rollouts, and a few numbers of each task. Sums follow the order of the records, so they are the same bits
 * every time.
 */
export class EpochMetrics {
  readonly #experiment: Experiment;
  readonly #world: Pick<World, 'solvedFrom'>;
  readonly #heldOutSpecs: ReadonlySet<string>;
  readonly #tasks: WrittenTask[] = [];
  readonly #specs: string[] = [];
  readonly #invalid: string[] = [];
  /** Each group of the agent in the order of the traces: mean reward of its even and its odd rollouts. */
  readonly #rewardHalves: { task: number; even: number; odd: number }[] = [];
  readonly #taskIndexes = new Set<number>();
  readonly #rewards = new RunningMean();
  readonly #deviations = new RunningMean();
  readonly #zeroDeviations = new RunningMean();
  readonly #promptLengths = new RunningMean();
  readonly #lengths = new RunningMean();
  readonly #correctLengths = new RunningMean();
  readonly #agreements = new RunningMean();
  #written = 0;
  #validWritten = 0;
  #repeats = 0;
  #heldOut = 0;
  #excluded = 0;
  #valid = 0;
  #repairs: number | undefined;
  #worded: number | undefined;
  #labels: { votes: number; unconfirmed: number; disputed: number } | undefined;
  #maxLength = 0;
  #clipped = 0;
  #wellFormed = 0;

  /** @param heldOut texts of the held-out tasks */
  constructor(experiment: Experiment, world: Pick<World, 'solvedFrom'>, heldOut: ReadonlySet<string>) {
    this.#experiment = experiment;
    this.#heldOutSpecs = heldOut;
    this.#world = world;
  }

  /** One group: the traces of a task and role, with their rewards. */
  addGroup(task: number, traces: readonly TraceRecord[], scored: readonly RewardRecord[]): void {
    for (const { reward, second_reward } of scored)
      this.#agreements.add(verdictAgreement([reward], [second_reward])!);
    if (traces[0]?.role !== 'agent') return;
    const rewards = scored.map(({ reward }) => reward);
    this.#deviations.add(standardDeviation(rewards) ?? 0);
    this.#zeroDeviations.add(Number(rewards.every((reward) => reward === rewards[0])));
    const even = mean(rewards.filter((_, index) => index % 2 === 0));
    const odd = mean(rewards.filter((_, index) => index % 2 === 1));
    // A group of one has no halves.
    if (even !== null && odd !== null) this.#rewardHalves.push({ task, even, odd });
    for (const [index, { sampled }] of traces.entries()) {
      const { reward, well_formed } = scored[index]!;
      const length = countSampledTokens(sampled);
      this.#rewards.add(reward);
      this.#lengths.add(length);
      this.#promptLengths.add(sampled.prompt_token_ids.length);
      this.#maxLength = Math.max(this.#maxLength, length);
      if (isSolved(this.#world, reward)) this.#correctLengths.add(length);
      if (sampled.finish_reason === 'length') this.#clipped += 1;
      if (well_formed) this.#wellFormed += 1;
    }
  }

  /** A task with its score, in the order of the tasks, after all groups. */
  addTask(
    index: number,
    { source, valid, invalid_reason, spec, repeats, repairs, worded, label }: TaskRecord,
    score: ScoreRecord,
  ): void {
    if (valid) this.#valid += 1;
    if (source !== 'new') return;
    this.#written += 1;
    if (spec !== null) this.#specs.push(spec);
    if (repeats > 0) this.#repeats += 1;
    if (repairs !== undefined) this.#repairs = (this.#repairs ?? 0) + repairs;
    if (worded !== undefined) this.#worded = (this.#worded ?? 0) + Number(worded);
    if (label) this.#addLabel(label, invalid_reason);
    if (invalid_reason === HELD_OUT) this.#excluded += 1;
    if (invalid_reason === HELD_OUT || (spec !== null && this.#heldOutSpecs.has(spec))) this.#heldOut += 1;
    if (!valid) {
      this.#invalid.push(invalid_reason);
      return;
    }
    this.#validWritten += 1;
    const { kind, difficulty, attempts, successes, success_rate, env_reward, frozen_rate, random_rate } =
      score;
    this.#tasks.push({
      kind,
      difficulty,
      attempts,
      successes,
      success_rate,
      env_reward,
      frozen_rate,
      random_rate,
    });
    this.#taskIndexes.add(index);
  }

  /** @param archive texts of earlier epochs' tasks, which the novelty of this epoch's is measured against */
  async metrics(archive: readonly string[], slices?: TimeSlices): Promise<Metrics> {
    const tasks = this.#tasks;
    const attempts = this.#lengths.count;
    return {
      'env/success_rate': average(tasks.map(({ success_rate }) => success_rate)),
      ...this.#histogram(tasks),
      'env/reward': average(tasks.map(({ env_reward }) => env_reward)),
      'env/calibration_error': calibrationError(
        tasks.map(({ success_rate }) => success_rate),
        this.#experiment.difficulty.alpha,
      ),
      'env/in_band_fraction': inBandShare(tasks.map(({ success_rate }) => success_rate)),
      'env/effective_group_ratio': effectiveGroupRatio(tasks),
      'env/signal': signalScore(tasks),
      'env/frozen_success_rate': average(tasks.map(({ frozen_rate }) => frozen_rate)),
      'env/random_success_rate': average(tasks.map(({ random_rate }) => random_rate)),
      'env/discrimination': average(
        tasks.map(({ success_rate, random_rate }) => discrimination(success_rate, random_rate)),
      ),
      'env/verdict_agreement': this.#agreements.value,
      'env/split_half_reliability': this.#reliability(),
      'env/valid_fraction': ratio(this.#validWritten, this.#written),
      'env/held_out_overlap': ratio(this.#heldOut, this.#validWritten + this.#excluded),
      'env/distinct_fraction': distinctShare(this.#specs),
      'env/duplicates': this.#repeats,
      'env/archive_distance': await archiveDistance(this.#specs, archive, { ...(slices && { slices }) }),
      ...countsByName('env/invalid', this.#invalid),
      ...(this.#repairs !== undefined && { 'env/repairs': this.#repairs }),
      ...(this.#worded !== undefined && { 'env/worded': this.#worded }),
      ...(this.#labels && {
        'env/label_votes': this.#labels.votes,
        'env/labels_unconfirmed': this.#labels.unconfirmed,
        'env/labels_disputed': this.#labels.disputed,
      }),
      'env/difficulty': mean(tasks.map(({ difficulty }) => difficulty)),
      'env/difficulty_sd': standardDeviation(tasks.map(({ difficulty }) => difficulty)),
      'env/difficulty_solved': difficultySolved(tasks),
      ...sharesByName(
        'env/kind',
        tasks.map(({ kind }) => kind),
      ),
      reward: this.#rewards.value,
      reward_std: this.#deviations.value,
      frac_reward_zero_std: this.#zeroDeviations.value,
      'prompts/mean_length': this.#promptLengths.value,
      'completions/mean_length': this.#lengths.value,
      'completions/max_length': attempts > 0 ? this.#maxLength : null,
      'completions/clipped_ratio': attempts > 0 ? this.#clipped / attempts : null,
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

  #histogram(tasks: readonly WrittenTask[]): Metrics {
    const { counts } = successHistogram(tasks, this.#experiment.agent.rolloutsPerTask);
    return Object.fromEntries(counts.map((count, k) => [`env/success_rate_hist/${k}`, count]));
  }

  /** Of the tasks written this epoch. */
  #reliability(): number | null {
    const halves = this.#rewardHalves.filter(({ task }) => this.#taskIndexes.has(task));
    return splitHalfReliability(halves.map(({ even, odd }) => [even, odd]));
  }
}

/** Number of tokens that the policy sampled, without those that it read between turns. */
const countSampledTokens = ({ mask, token_ids }: Sampled): number =>
  mask?.reduce((sum, bit) => sum + bit, 0) ?? token_ids.length;

/** Mean difficulty of the solved rollouts. */
function difficultySolved(tasks: readonly WrittenTask[]): number | null {
  const solved = new RunningMean();
  for (const { difficulty, successes } of tasks)
    for (let success = 0; success < successes; success++) solved.add(difficulty);
  return solved.value;
}
