import { requireFinite, requireInRange, requireInteger } from '../../numerics/preconditions.ts';
import type { RandomStream } from '../../numerics/random.ts';

/**
 * `count` of the records without replacement, each next one with probability proportional to weight exp(λ
 * R_env), in the order drawn. As Efraimidis and Spirakis 2006: the smallest of the exponential times -ln(u) /
 * w. A weight of 0 is never drawn. λ = 0 is a uniform draw; with λ the shares follow the regression weights
 * of the method (GenEnv 2.2), for a simulator that learns from its prompt.
 */
export function drawExemplars<R extends { env_reward: number; weight: number }>(
  records: readonly R[],
  count: number,
  { lambda }: { lambda: number },
  random: RandomStream,
): R[] {
  requireInteger('count', count, 0);
  requireInRange('lambda', lambda, 0, Number.MAX_VALUE);
  const timed = records.map((record, i) => {
    requireFinite(`records[${i}].env_reward`, record.env_reward);
    requireInRange(`records[${i}].weight`, record.weight, 0, 1);
    // In logarithms, so that no λ overflows: ln(-ln(1 - u)) - λ R - ln(weight).
    const logDraw = Math.log(-Math.log1p(-random.next()));
    return { record, time: logDraw - lambda * record.env_reward - Math.log(record.weight) };
  });
  return timed
    .filter(({ record }) => record.weight > 0)
    .sort((left, right) => left.time - right.time)
    .slice(0, count)
    .map(({ record }) => record);
}
