import { archiveDistance } from '../coevolution/archive-distance.ts';
import { mean } from '../coevolution/domain.ts';
import { discrimination } from '../coevolution/discrimination.ts';
import { distinctShare } from '../coevolution/distinct-share.ts';
import { effectiveGroupRatio } from '../coevolution/effective-group-ratio.ts';
import { successHistogram } from '../coevolution/histogram.ts';
import { inBandShare } from '../coevolution/in-band.ts';
import { signalScore } from '../coevolution/signal-score.ts';
import { splitHalfReliability } from '../coevolution/split-half-reliability.ts';
import { verdictAgreement } from '../coevolution/verdict-agreement.ts';
import type { Experiment } from '../contracts/experiment.ts';
import type { Metrics } from '../contracts/phases.ts';
import type { RewardRecord, ScoreRecord, TaskRecord, TraceRecord } from '../contracts/records.ts';

/** Metrics of an epoch's tasks and rollouts (docs/artifacts.md), gathered while the traces stream by. */
export class EpochSummary {
  readonly #experiment: Experiment;
  readonly #rewards: number[] = [];
  readonly #groups: { task: string; rewards: number[] }[] = [];
  readonly #verdicts: { first: number[]; second: number[] } = { first: [], second: [] };
  readonly #lengths: number[] = [];
  readonly #correctLengths: number[] = [];
  #cutOff = 0;
  #wellFormed = 0;

  constructor(experiment: Experiment) {
    this.#experiment = experiment;
  }

  /** One group: the traces of a task and role, with their rewards. */
  add(traces: readonly TraceRecord[], rewards: readonly RewardRecord[]): void {
    this.#verdicts.first.push(...rewards.map(({ reward }) => reward));
    this.#verdicts.second.push(...rewards.map(({ second_reward }) => second_reward));
    if (traces[0]?.role !== 'agent') return;
    this.#groups.push({ task: traces[0].task_id, rewards: rewards.map(({ reward }) => reward) });
    for (const [index, { sampled }] of traces.entries()) {
      const { reward, well_formed } = rewards[index]!;
      this.#rewards.push(reward);
      this.#lengths.push(sampled.token_ids.length);
      if (reward === 1) this.#correctLengths.push(sampled.token_ids.length);
      if (sampled.finish_reason === 'length') this.#cutOff += 1;
      if (well_formed) this.#wellFormed += 1;
    }
  }

  /** @param archive tasks of earlier epochs, for the novelty of this one's. */
  metrics(tasks: readonly TaskRecord[], scores: readonly ScoreRecord[], archive: readonly string[]): Metrics {
    const written = tasks.filter(({ source }) => source === 'new');
    const fresh = scores.filter(({ source, valid }) => source === 'new' && valid);
    const specs = written.flatMap(({ spec }) => (spec === null ? [] : [spec]));
    return {
      'env/success_rate': average(fresh.map(({ success_rate }) => success_rate)),
      ...this.#histogram(fresh),
      'env/reward': average(fresh.map(({ env_reward }) => env_reward)),
      'env/in_band_fraction': inBandShare(fresh.map(({ success_rate }) => success_rate)),
      'env/effective_group_ratio': effectiveGroupRatio(fresh),
      'env/signal': signalScore(fresh),
      'env/frozen_success_rate': average(fresh.map(({ frozen_rate }) => frozen_rate)),
      'env/random_success_rate': average(fresh.map(({ random_rate }) => random_rate)),
      'env/discrimination': average(fresh.map(({ success_rate, random_rate }) => discrimination(success_rate, random_rate))),
      'env/verdict_agreement': verdictAgreement(this.#verdicts.first, this.#verdicts.second),
      'env/split_half_reliability': this.#reliability(fresh),
      'env/valid_fraction': mean(written.map(({ valid }) => Number(valid))),
      'env/distinct_fraction': distinctShare(specs),
      'env/duplicates': written.filter(({ repeats }) => repeats > 0).length,
      'env/archive_distance': archiveDistance(specs, archive),
      ...counts('env/invalid', written.filter(({ valid }) => !valid).map(({ invalid_reason }) => invalid_reason)),
      'env/difficulty': mean(fresh.map(({ difficulty }) => difficulty)),
      'env/difficulty_sd': deviation(fresh.map(({ difficulty }) => difficulty)),
      'env/difficulty_solved': mean(fresh.flatMap(({ difficulty, successes }) => Array<number>(successes).fill(difficulty))),
      ...shares('env/kind', fresh.map(({ kind }) => kind)),
      reward: mean(this.#rewards),
      reward_std: mean(this.#groups.map(({ rewards }) => deviation(rewards) ?? 0)),
      frac_reward_zero_std: mean(this.#groups.map(({ rewards }) => Number(rewards.every((reward) => reward === rewards[0])))),
      'completions/mean_length': mean(this.#lengths),
      'completions/max_length': this.#lengths.length > 0 ? this.#lengths.reduce((a, b) => Math.max(a, b)) : null,
      'completions/clipped_ratio': this.#lengths.length > 0 ? this.#cutOff / this.#lengths.length : null,
      'completions/well_formed_ratio': this.#lengths.length > 0 ? this.#wellFormed / this.#lengths.length : null,
      'completions/correct_mean_length': mean(this.#correctLengths),
      'rollouts/count': this.#lengths.length,
      'rollouts/errored': scores.filter(({ valid }) => valid).length * this.#experiment.agent.rolloutsPerTask - this.#lengths.length,
    };
  }

  #histogram(fresh: readonly ScoreRecord[]): Metrics {
    const { counts: tasks } = successHistogram(fresh, this.#experiment.agent.rolloutsPerTask);
    return Object.fromEntries(tasks.map((count, k) => [`env/success_rate_hist/${k}`, count]));
  }

  #reliability(fresh: readonly ScoreRecord[]): number | null {
    const ids = new Set(fresh.map(({ task_id }) => task_id));
    return splitHalfReliability(this.#groups.filter(({ task }) => ids.has(task)).map(({ rewards }) => rewards));
  }
}

const average = (values: readonly (number | null)[]): number | null => mean(values.filter((value) => value !== null));

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

const shares = (name: string, values: readonly string[]): Metrics => Object.fromEntries(Object.entries(counts(name, values)).map(([key, count]) => [key, count! / values.length]));
