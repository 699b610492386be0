import { workflowInfo } from '@temporalio/workflow';
import type { Committed, Plan } from '../contracts/phases.ts';
import type { Progress } from '../contracts/progress.ts';
import type { Stopwatch } from './stopwatch.ts';

const remembered = 50;

/** What the progress shows of earlier epochs; carried when the workflow continues as new. */
export interface Recent {
  successRates: number[];
  epochSeconds: number[];
  heldOut: number | null;
  notes: string[];
}

/** Follows an experiment, for the progress query, the details in the UI and the search attributes. */
export class Track {
  readonly recent: Recent;
  readonly #watch: Stopwatch;
  #status: Progress['status'] = 'preparing';
  #plan: Plan | undefined;
  #last: Committed | undefined;
  #epoch = 0;
  #begun = 0;

  constructor(watch: Stopwatch, recent: Recent = { successRates: [], epochSeconds: [], heldOut: null, notes: [] }) {
    this.#watch = watch;
    this.recent = recent;
  }

  begin(plan: Plan): void {
    this.#plan = plan;
  }

  epochBegins(epoch: number): void {
    this.#status = 'running';
    this.#epoch = epoch;
    this.#begun = Date.now();
  }

  committed(committed: Committed): void {
    const { 'env/success_rate': rate, 'eval/heldout': heldOut } = committed.metrics;
    const isNew = committed.epoch === this.#epoch && this.#status === 'running';
    if (isNew && typeof rate === 'number') this.recent.successRates = [...this.recent.successRates, rate].slice(-remembered);
    if (isNew) this.recent.epochSeconds = [...this.recent.epochSeconds, (Date.now() - this.#begun) / 1000].slice(-remembered);
    if (typeof heldOut === 'number') this.recent.heldOut = heldOut;
    this.#last = committed;
  }

  finished(): void {
    this.#status = 'finished';
  }

  progress(): Progress {
    const settings = this.#plan?.settings;
    const metrics = this.#last?.metrics ?? {};
    const { successRates, epochSeconds, heldOut, notes } = this.recent;
    return {
      experiment: settings?.name ?? workflowInfo().workflowId,
      arm: settings?.arm ?? '',
      status: this.#status,
      epoch: this.#status === 'running' ? this.#epoch : (this.#last?.epoch ?? 0),
      epochs: settings?.epochs ?? 0,
      phase: this.#status === 'preparing' ? this.#watch.phase : this.#status === 'running' ? 'epoch' : this.#status,
      rolloutsDone: 0,
      rolloutsPlanned: settings?.rolloutsPerEpoch ?? 0,
      successRate: metrics['env/success_rate'] ?? null,
      recentSuccessRates: successRates,
      band: settings?.band ?? [0.4, 0.6],
      heldOut,
      environmentReward: metrics['env/reward'] ?? null,
      difficulty: metrics['env/difficulty'] ?? null,
      epochSeconds: epochSeconds.length === 0 ? null : epochSeconds.reduce((a, b) => a + b) / epochSeconds.length,
      notes,
    };
  }
}
