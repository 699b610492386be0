/** How many rollouts of an epoch are made, for whoever follows it. */
import type { WorkflowSettings } from '../types/run-state.ts';

/** The round that is under way, and the most that there may be. */
export interface RoundProgress {
  number: number;
  max: number;
}

export interface RolloutCounts {
  rolloutsDone: number;
  /** Of the rounds so far: how many more there will be, nobody knows. */
  rolloutsPlanned: number;
  /** Absent without dynamic sampling. */
  round?: RoundProgress;
}

/** Counts the rollouts of an epoch and of its rounds. */
export class RolloutProgress {
  readonly #settings: Pick<WorkflowSettings, 'dynamicSampling' | 'rolloutsPerEpoch'>;
  #done = 0;
  #round = 1;

  constructor(settings: Pick<WorkflowSettings, 'dynamicSampling' | 'rolloutsPerEpoch'>) {
    this.#settings = settings;
  }

  startRound(round: number): void {
    this.#round = round;
  }

  add(rollouts: number): void {
    this.#done += rollouts;
  }

  counts(): RolloutCounts {
    const { dynamicSampling, rolloutsPerEpoch } = this.#settings;
    return {
      rolloutsDone: this.#done,
      rolloutsPlanned: this.#round * rolloutsPerEpoch,
      ...(dynamicSampling && { round: { number: this.#round, max: dynamicSampling.maxRounds } }),
    };
  }
}
