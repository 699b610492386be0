import { mean, sum } from '../numerics/arithmetic.ts';
import { requireFinite } from '../numerics/preconditions.ts';

export type GroupAdvantages = {
  /** In the order of the rewards; all exactly 0 in a group that is not informative. */
  advantages: number[];
  /** Null for a group without a single reward. */
  mean: number | null;
  /** Unbiased (n - 1), as torch.std; 0 for fewer than two rewards. */
  std: number;
  /** Some rewards differ. A group that is not informative counts for p̂, and then has nothing to teach. */
  informative: boolean;
};

/** Added to the standard deviation, as in TRL 1.16's GRPOTrainer. */
const EPSILON = 1e-4;

/**
 * Group-relative advantages of GRPO: A_i = r_i - mean(r), divided by std(r) + 1e-4 when `scaleByStd`. Shao et
 * al. 2024 (DeepSeekMath), with TRL's constants; unscaled as in Dr. GRPO (Liu et al. 2025), which removes the
 * weight that scaling gives to groups near p = 0 and 1. In units of reward, or of standard deviations.
 * Rollouts without a reward (infrastructure failures) are left out by the caller, also from the mean.
 */
export function groupAdvantages(
  rewards: readonly number[],
  { scaleByStd }: { scaleByStd: boolean },
): GroupAdvantages {
  for (const [i, reward] of rewards.entries()) requireFinite(`rewards[${i}]`, reward);
  const groupMean = mean(rewards);
  if (groupMean === null) return { advantages: [], mean: null, std: 0, informative: false };

  // Compared as they are: the rounded mean of equal rewards may differ from them in its last bit.
  const informative = rewards.some((reward) => reward !== rewards[0]);
  if (!informative) return { advantages: rewards.map(() => 0), mean: groupMean, std: 0, informative };

  const squares = sum(rewards.map((reward) => (reward - groupMean) ** 2));
  const std = Math.sqrt(squares / (rewards.length - 1));
  const scale = scaleByStd ? std + EPSILON : 1;
  return {
    advantages: rewards.map((reward) => (reward - groupMean) / scale),
    mean: groupMean,
    std,
    informative,
  };
}
