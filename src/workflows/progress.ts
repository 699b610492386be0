import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import type { CommittedEpoch, Progress, RunOutcome, WorkflowSettings } from '../types/activity-types.ts';
import type { StepRunner } from './epoch-pipeline.ts';
import type { ControlState } from './messages.ts';

const remembered = 50;
const rememberedNotes = 10;

/** What the progress shows of earlier epochs; carried when the workflow continues as new. */
export interface ProgressHistory {
  successRates: number[];
  epochSeconds: number[];
  heldOut: number | null;
  notes: string[];
}

/** Follows an experiment, for the progress query, the details in the UI and the search attributes. */
export class ProgressTracker {
  readonly recent: ProgressHistory;
  readonly #watch: Stopwatch;
  readonly #asked: ControlState;
  #outcome: RunOutcome | undefined;
  #settings: WorkflowSettings | undefined;
  #last: CommittedEpoch | undefined;
  #underWay: number | undefined;
  #begun = 0;

  constructor(
    watch: Stopwatch,
    asked: ControlState,
    recent: ProgressHistory = { successRates: [], epochSeconds: [], heldOut: null, notes: [] },
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

  committed(committed: CommittedEpoch): void {
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

  ended(outcome: RunOutcome): void {
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

/** Seconds by phase, on the workflow's own clock, which replays to the same values. */
export class Stopwatch {
  readonly seconds: Record<string, number> = {};
  phase = 'starting';
  readonly #begun = Date.now();

  async time<T>(phase: string, work: () => Promise<T>): Promise<T> {
    this.phase = phase;
    const begun = Date.now();
    const result = await work();
    this.seconds[phase] = (Date.now() - begun) / 1000;
    return result;
  }

  /** The phases' seconds so far, and those since the start. */
  total(): Record<string, number> {
    return { ...this.seconds, epoch: (Date.now() - this.#begun) / 1000 };
  }

  /** A runner that measures each step, which starts when `before` resolves. */
  runner(before: () => Promise<void> = () => Promise.resolve()): StepRunner {
    return {
      step: async (phase, work) => {
        await before();
        return this.time(phase, work);
      },
      seconds: () => this.total(),
    };
  }
}

const percent = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);

/** The experiment at a glance, in Markdown, for Temporal's UI and `temporal workflow describe`. */
export function experimentDetails({
  experiment,
  arm,
  epoch,
  epochs,
  successRate,
  band,
  recentSuccessRates,
  heldOut,
  difficulty,
  epochSeconds,
  status,
  notes,
}: Progress): string {
  const five = recentSuccessRates.slice(-5);
  const mean = five.length === 0 ? null : five.reduce((a, b) => a + b) / five.length;
  const eta = epochSeconds === null ? '–' : `${Math.ceil(((epochs - epoch) * epochSeconds) / 60)} min`;
  return [
    `**${experiment}** (${arm}): ${status}, epoch **${epoch}** of ${epochs}${status === 'running' ? `, about ${eta} to go` : ''}`,
    '',
    '| | |',
    '| --- | --- |',
    `| success rate | ${percent(successRate)} (last 5: ${percent(mean)}; band ${percent(band[0])} to ${percent(band[1])}) |`,
    `| held-out success | ${percent(heldOut)} |`,
    `| task difficulty | ${difficulty === null ? '–' : difficulty.toFixed(2)} |`,
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => `- ${note}`)]),
  ].join('\n');
}

/**
 * Typed search attributes, so that `temporal workflow list --query 'GenEnvSuccessRate > 0.4'` works. The
 * worker registers them.
 */
export const searchAttributeKeys = {
  experiment: defineSearchAttributeKey('GenEnvExperiment', 'KEYWORD'),
  arm: defineSearchAttributeKey('GenEnvArm', 'KEYWORD'),
  /**
   * preparing, running, paused, stopping; then how it ended: finished, stopped, token cap reached, cancelled,
   * failed.
   */
  status: defineSearchAttributeKey('GenEnvStatus', 'KEYWORD'),
  epoch: defineSearchAttributeKey('GenEnvEpoch', 'INT'),
  successRate: defineSearchAttributeKey('GenEnvSuccessRate', 'DOUBLE'),
};

export function searchAttributes({
  experiment,
  arm,
  status,
  epoch,
  successRate,
}: Progress): SearchAttributeUpdatePair[] {
  return [
    { key: searchAttributeKeys.experiment, value: experiment },
    { key: searchAttributeKeys.arm, value: arm },
    { key: searchAttributeKeys.status, value: status },
    { key: searchAttributeKeys.epoch, value: epoch },
    { key: searchAttributeKeys.successRate, value: successRate },
  ];
}
