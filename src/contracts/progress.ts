import type { Outcome } from './phases.ts';

/** What the query `progress` of an experiment's workflow answers. Types only, so workflows may import it. */
export interface Progress {
  experiment: string;
  arm: string;
  status: 'preparing' | 'running' | 'paused' | 'stopping' | Outcome;
  /** The epoch under way; 0 = preparation. */
  epoch: number;
  epochs: number;
  phase: string;
  rolloutsDone: number;
  rolloutsPlanned: number;
  /** p̂ of the last committed epoch. */
  successRate: number | null;
  /** p̂ of the last epochs, oldest first. */
  recentSuccessRates: number[];
  band: [number, number];
  /** Held-out success at the last evaluation. */
  heldOut: number | null;
  environmentReward: number | null;
  difficulty: number | null;
  /** Mean duration of the last epochs. */
  epochSeconds: number | null;
  notes: string[];
}
