/** A target success rate that changes with the epoch. */
export interface TargetSchedule {
  /** α until the first step of the schedule, and without one. */
  alpha: number;
  /** Steps in the order of their epochs, each with the α that holds from its epoch on. */
  alphaSchedule?: readonly { fromEpoch: number; alpha: number }[] | undefined;
}

/**
 * The target success rate α of an epoch, in [0, 1]: that of the last step whose epoch has come. GenEnv holds α
 * at 0.5; another account of the method lets it follow the agent's performance, which a schedule (or a retune)
 * can do by hand.
 */
export function alphaAt({ alpha, alphaSchedule = [] }: TargetSchedule, epoch: number): number {
  return alphaSchedule.findLast(({ fromEpoch }) => fromEpoch <= epoch)?.alpha ?? alpha;
}
