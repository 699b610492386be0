import { workflowInfo } from '@temporalio/workflow';
import type { Committed, Outcome, WorkflowSettings } from '../contracts/phases.ts';
import type { Progress } from '../contracts/progress.ts';
import type { Asked } from './messages.ts';
import type { Stopwatch } from './stopwatch.ts';

const remembered = 50;
const rememberedNotes = 10;

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
  readonly #asked: Asked;
  #outcome: Outcome | undefined;
  #settings: WorkflowSettings | undefined;
  #last: Committed | undefined;
  #underWay: number | undefined;
  #begun = 0;

  constructor(
    watch: Stopwatch,
    asked: Asked,
    recent: Recent = { successRates: [], epochSeconds: [], heldOut: null, notes: [] },
  ) {
    this.#watch = watch;
    this.#asked = asked;
    this.recent = recent;
  }

  begin(settings: WorkflowSettings): void {
    this.#settings = settings;
  }

  epochBegins(epoch: number): void {
    this.#underWay = epoch;
    this.#begun = Date.now();
  }

  committed(committed: Committed): void {
    const { 'env/success_rate': rate, 'eval/heldout': heldOut } = committed.metrics;
    if (committed.epoch === this.#underWay) {
      if (typeof rate === 'number')
        this.recent.successRates = [...this.recent.successRates, rate].slice(-remembered);
      this.recent.epochSeconds = [...this.recent.epochSeconds, (Date.now() - this.#begun) / 1000].slice(
        -remembered,
      );
      for (const note of committed.notes) this.note(`epoch ${committed.epoch}: ${note}`);
    }
    if (typeof heldOut === 'number') this.recent.heldOut = heldOut;
    this.#last = committed;
    this.#underWay = undefined;
  }

  note(note: string): void {
    this.recent.notes = [...this.recent.notes, note].slice(-rememberedNotes);
  }

  ended(outcome: Outcome): void {
    this.#outcome = outcome;
  }

  progress(): Progress {
    const settings = this.#settings;
    const metrics = this.#last?.metrics ?? {};
    const { successRates, epochSeconds, heldOut, notes } = this.recent;
    const status = this.#status();
    return {
      experiment: settings?.name ?? workflowInfo().workflowId,
      arm: settings?.arm ?? '',
      status,
      epoch: this.#underWay ?? this.#last?.epoch ?? 0,
      epochs: settings?.epochs ?? 0,
      phase: status === 'preparing' ? this.#watch.phase : status === 'running' ? 'epoch' : status,
      rolloutsDone: 0,
      rolloutsPlanned: settings?.rolloutsPerEpoch ?? 0,
      successRate: metrics['env/success_rate'] ?? null,
      recentSuccessRates: successRates,
      band: settings?.band ?? [0.4, 0.6],
      heldOut,
      environmentReward: metrics['env/reward'] ?? null,
      difficulty: metrics['env/difficulty'] ?? null,
      epochSeconds:
        epochSeconds.length === 0 ? null : epochSeconds.reduce((a, b) => a + b) / epochSeconds.length,
      notes,
    };
  }

  #status(): Progress['status'] {
    if (this.#outcome !== undefined) return this.#outcome;
    if (this.#asked.stopAfterEpoch) return 'stopping';
    if (this.#asked.paused) return 'paused';
    return this.#last === undefined ? 'preparing' : 'running';
  }
}
