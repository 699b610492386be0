import { discrimination, discriminationGate } from '../coevolution/discrimination.ts';
import { clusterSizes } from '../coevolution/task-clusters.ts';
import type { Guards } from '../contracts/method-settings.ts';

/** Factor on a task's regression weight, by the agent's success on it and a random policy's: 0 where luck decides. */
export function luckGuard(guards: Guards, rate: number | null, random: number | null): number {
  if (random !== null && random > (guards.randomSuccess ?? 1)) return 0;
  // A task nobody solved is hard, not random: its reward is low as it is.
  return guards.discrimination && rate !== 0 ? discriminationGate(discrimination(rate, random)) : 1;
}

/** Factor on the weight of each of an epoch's tasks: a cluster of near copies weighs as one. */
export function clusterGuards({ clusterDistance }: Guards, specs: readonly (string | null)[]): number[] {
  if (clusterDistance === undefined || clusterDistance === null) return specs.map(() => 1);
  const sizes = clusterSizes(
    specs.flatMap((spec) => (spec === null ? [] : [spec])),
    clusterDistance,
  ).values();
  return specs.map((spec) => (spec === null ? 1 : 1 / sizes.next().value!));
}
