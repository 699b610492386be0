import { signalScore, splitHalfReliability } from '../../src/coevolution/diagnostics.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { wilsonInterval } from '../../src/numerics/intervals.ts';
import type { Metrics } from '../../src/types/run-state.ts';
import type { VerdictRecord } from '../../src/types/records.ts';
import type { EpochFiles } from './make-epoch.ts';

const rounded = (value: number | null) => (value === null ? null : Number(value.toPrecision(8)));
const present = (values: (number | null)[]) => values.filter((value) => value !== null);

/**
 * Metrics of the made-up records, by the names of docs/artifacts.md; those of training jobs follow smooth
 * curves.
 */
export function metricsOf(
  { tasks, traces, rewards, scores, decisions }: EpochFiles,
  epoch: number,
  n: number,
): Metrics {
  const valid = scores.filter((score) => score.valid);
  const own = rewards.filter(({ role }) => role === 'agent');
  const lengths = new Map(traces.map(({ id, sampled }) => [id, sampled.token_ids.length]));
  const all = own.map(({ id }) => lengths.get(id) ?? 0);
  const success = mean(present(valid.map(({ success_rate }) => success_rate))) ?? 0;
  const difficulty = mean(valid.map((score) => score.difficulty)) ?? 0;
  const kinds = ['T', 'U', 'V', 'W'];
  const ofKind = (kind: string) => valid.filter((score) => score.kind === kind);
  const tally = (prefix: string, reasons: string[]) =>
    Object.fromEntries(
      [...new Set(reasons)].map((reason) => [
        `${prefix}${reason}`,
        reasons.filter((candidate) => candidate === reason).length,
      ]),
    );
  const metrics: Metrics = {
    'env/success_rate': success,
    ...Object.fromEntries(
      Array.from({ length: n + 1 }, (_, k) => [
        `env/success_rate_hist/${k}`,
        valid.filter(({ successes }) => successes === k).length,
      ]),
    ),
    'env/reward': mean(present(valid.map(({ env_reward }) => env_reward))),
    'env/in_band_fraction': mean(
      valid.map(({ success_rate }) => Number(Math.abs((success_rate ?? 0) - 0.5) <= 0.1)),
    ),
    'env/effective_group_ratio': mean(valid.map(({ informative }) => Number(informative))),
    'env/signal': signalScore(valid),
    'env/frozen_success_rate': mean(present(valid.map(({ frozen_rate }) => frozen_rate))),
    'env/random_success_rate': 0,
    'env/discrimination': success,
    'env/verdict_agreement': 1,
    'env/split_half_reliability': splitHalfReliability(
      valid.map(({ task_id }) =>
        own.filter((reward) => reward.task_id === task_id).map(({ reward }) => reward),
      ),
    ),
    ...Object.fromEntries(
      kinds.flatMap((kind, index) => [
        [`env/kind/${kind}`, ofKind(kind).length / valid.length],
        [`env/learning_progress/${kind}`, 0.08 * Math.exp(-epoch / 14) * Math.sin(epoch / 4 + index)],
      ]),
    ),
    'env/valid_fraction': valid.length / tasks.length,
    'env/distinct_fraction':
      tasks.filter(({ valid: is, repeats }) => is && repeats === 0).length / valid.length,
    'env/archive_distance': 0.62 + 0.1 * Math.sin(epoch),
    ...tally(
      'env/invalid/',
      tasks.filter((task) => !task.valid).map(({ invalid_reason }) => invalid_reason),
    ),
    ...tally(
      'env/filtered/',
      decisions
        .filter(({ reason }) => reason !== 'kept' && reason !== 'not measured')
        .map(({ reason }) => reason.replaceAll(' ', '_')),
    ),
    'env/difficulty': difficulty,
    'env/difficulty_sd': Math.sqrt(mean(valid.map((score) => (score.difficulty - difficulty) ** 2)) ?? 0),
    'env/difficulty_solved': mean(
      valid.flatMap((score) => Array<number>(score.successes).fill(score.difficulty)),
    ),
    'env/kl': 0.75 * (1 - Math.exp(-epoch / 8)) + 0.05 * Math.sin(epoch),
    'env/loss': 1.5 - 0.012 * epoch,
    'env/grad_norm': 1.1 + 0.3 * Math.sin(2 * epoch),
    'env/rwr_ess': 0.46 + 0.1 * Math.cos(epoch),
    'env/rwr_weight_max': 4.2 + Math.sin(epoch),
    'env/steps': 2,
    reward: mean(own.map(({ reward }) => reward)),
    reward_std: Math.sqrt(success * (1 - success)),
    frac_reward_zero_std: 1 - (mean(valid.map(({ informative }) => Number(informative))) ?? 0),
    loss: 0.02 * Math.sin(3 * epoch),
    grad_norm: 0.6 + 0.2 * Math.cos(epoch),
    kl: 0.004 * epoch,
    entropy: 0.9 * Math.exp(-epoch / 30) + 0.1,
    'clip_ratio/low_mean': 0.004,
    'clip_ratio/high_mean': 0.006 + 0.002 * Math.sin(epoch),
    'clip_ratio/region_mean': 0.01,
    'sampling/sampling_logp_difference/mean': 2.1e-7 * (1 + 0.3 * Math.sin(epoch)),
    'sampling/sampling_logp_difference/max': 4e-6,
    steps: 1,
    learning_rate: 2e-4,
    'completions/mean_length': mean(all),
    'completions/max_length': Math.max(...all),
    'completions/clipped_ratio': 0,
    'completions/correct_mean_length': mean(
      own.filter(({ reward }) => reward >= 1).map(({ id }) => lengths.get(id) ?? 0),
    ),
    num_tokens: epoch * 4200,
    'rollouts/count': own.length,
    'rollouts/errored': 0,
    'pool/train_size': Math.min(4096, 30 * epoch),
    'pool/env_size': epoch === 1 ? 30 : 60,
    'pool/env_mean_age': epoch === 1 ? 0 : 0.5,
  };
  return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [name, rounded(value)]));
}

export function evaluationMetrics(verdicts: readonly VerdictRecord[]): Metrics {
  const success = (group: readonly VerdictRecord[]) => rounded(mean(group.map(({ reward }) => reward)));
  const interval = wilsonInterval({
    successes: verdicts.filter(({ reward }) => reward >= 1).length,
    attempts: verdicts.length,
  });
  const by = (field: 'kind' | 'difficulty', prefix: string) =>
    [...new Set(verdicts.map((verdict) => verdict[field]))].map((value) => [
      `${prefix}${value}`,
      success(verdicts.filter((verdict) => verdict[field] === value)),
    ]);
  return {
    'eval/heldout': success(verdicts),
    'eval/heldout_low': rounded(interval.low),
    'eval/heldout_high': rounded(interval.high),
    ...(Object.fromEntries([
      ...by('kind', 'eval/heldout/'),
      ...by('difficulty', 'eval/heldout_difficulty/'),
    ]) as Metrics),
  };
}
