/**
 * What people see of an experiment while it runs: the progress query, the details in Temporal's UI and the
 * search attributes are three views of one snapshot.
 */
import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { mean, median } from '../numerics/arithmetic.ts';
import { shownNotes } from '../scoring/epoch-notes.ts';
import type { RunOutcome } from '../types/activity-inputs.ts';
import type { CommittedEpoch, Progress } from '../types/activity-types.ts';
import type { WorkflowSettings } from '../types/run-state.ts';
import type { OutageReport } from '../types/outage-types.ts';
import type { PhaseRunner } from '../epochs/pipeline-activities.ts';
import type { ControlState } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { outageText, phaseText } from './outage-text.ts';

const maxEpochs = 50;
const maxNotes = 10;

/** What the progress shows of earlier epochs, oldest first; survives continue-as-new. */
export interface ProgressHistory {
  successRates: number[];
  epochSeconds: number[];
  heldOut: number | null;
  notes: string[];
}

const activeStatuses: ReadonlySet<Progress['status']> = new Set(['running', 'stopping', 'paused']);

/** Follows an experiment, for whoever wants to see its progress. */
export class ProgressTracker {
  readonly history: ProgressHistory;
  readonly #stopwatch: Stopwatch;
  readonly #controlState: ControlState;
  #outcome: RunOutcome | undefined;
  #settings: WorkflowSettings | undefined;
  #lastCommitted: CommittedEpoch | undefined;
  #currentEpoch: number | undefined;
  #epochStartedAt = 0;

  constructor(
    stopwatch: Stopwatch,
    controlState: ControlState,
    history: ProgressHistory = { successRates: [], epochSeconds: [], heldOut: null, notes: [] },
  ) {
    this.#stopwatch = stopwatch;
    this.#controlState = controlState;
    this.history = history;
  }

  useSettings(settings: WorkflowSettings): void {
    this.#settings = settings;
  }

  startEpoch(epoch: number): void {
    this.#currentEpoch = epoch;
    this.#epochStartedAt = Date.now();
  }

  /** An epoch that this run of the workflow did not start adds nothing to the history but its score. */
  recordCommit(committed: CommittedEpoch): void {
    const { 'env/success_rate': successRate, 'eval/heldout': heldOut } = committed.metrics;
    if (committed.epoch === this.#currentEpoch) {
      const { successRates, epochSeconds } = this.history;
      const seconds = (Date.now() - this.#epochStartedAt) / 1000;
      if (typeof successRate === 'number')
        this.history.successRates = [...successRates, successRate].slice(-maxEpochs);
      this.history.epochSeconds = [...epochSeconds, seconds].slice(-maxEpochs);
      for (const note of shownNotes(committed.notes, committed.messages))
        this.addNote(`epoch ${committed.epoch}: ${note}`);
    }
    if (typeof heldOut === 'number') this.history.heldOut = heldOut;
    this.#lastCommitted = committed;
    this.#currentEpoch = undefined;
  }

  addNote(note: string): void {
    this.history.notes = [...this.history.notes, note].slice(-maxNotes);
  }

  setOutcome(outcome: RunOutcome): void {
    this.#outcome = outcome;
  }

  snapshot(): Progress {
    const settings = this.#settings;
    const metrics = this.#lastCommitted?.metrics ?? {};
    const { successRates, epochSeconds, heldOut, notes } = this.history;
    const status = this.#status();
    const waiting = modelOutages.current();
    return {
      experiment: settings?.name ?? workflowInfo().workflowId,
      arm: settings?.arm ?? '',
      status,
      epoch: this.#currentEpoch ?? this.#lastCommitted?.epoch ?? 0,
      epochs: settings?.epochs ?? 0,
      phase: phaseText(waiting?.phase ?? this.phase(), waiting?.outage),
      waiting: waiting?.outage ?? null,
      rolloutsDone: 0,
      rolloutsPlanned: settings?.rolloutsPerEpoch ?? 0,
      successRate: metrics['env/success_rate'] ?? null,
      recentSuccessRates: successRates,
      band: settings?.band ?? [0.4, 0.6],
      heldOut,
      validTasks: metrics['env/valid_fraction'] ?? null,
      wellFormed: metrics['completions/well_formed_ratio'] ?? null,
      environmentReward: metrics['env/reward'] ?? null,
      difficulty: metrics['env/difficulty'] ?? null,
      // Not the mean: an epoch that stood still for an hour says nothing of the next ones.
      epochSeconds: median(epochSeconds),
      notes,
    };
  }

  #status(): Progress['status'] {
    if (this.#outcome !== undefined) return this.#outcome;
    if (this.#controlState.stopAfterEpoch) return 'stopping';
    if (this.#controlState.paused) return 'paused';
    return this.#lastCommitted === undefined ? 'preparing' : 'running';
  }

  /**
   * What is under way. Which phase of an epoch runs, only the epoch's own query knows, and an epoch that waits
   * for a model server says so.
   */
  phase(child?: OutageReport): string {
    const status = this.#status();
    if (status === 'preparing') return this.#stopwatch.phase;
    if (!activeStatuses.has(status)) return status;
    const epoch = this.#currentEpoch;
    if (epoch === undefined) return child === undefined ? 'between epochs' : `benchmarks: ${child.phase}`;
    return child === undefined ? `epoch ${epoch}` : `epoch ${epoch}: ${child.phase}`;
  }
}

interface RunnerOptions {
  before?: () => Promise<void>;
  onPhase?: () => void;
}

/** Seconds by phase, on the workflow's own clock, which replays to the same values. */
export class Stopwatch {
  /** The current phase. */
  phase = 'starting';
  readonly #secondsByPhase: Record<string, number> = {};
  readonly #startedAt = Date.now();

  /**
   * A runner that measures each phase, which starts when `before` resolves.
   * @param options `onPhase`: called when a phase starts
   */
  runner({ before = () => Promise.resolve(), onPhase }: RunnerOptions = {}): PhaseRunner {
    return {
      run: async (phase, work) => {
        await before();
        this.phase = phase;
        onPhase?.();
        return this.#measure(phase, work);
      },
      seconds: () => ({ ...this.#secondsByPhase, epoch: (Date.now() - this.#startedAt) / 1000 }),
    };
  }

  async #measure<T>(phase: string, work: () => Promise<T>): Promise<T> {
    const startedAt = Date.now();
    const result = await work();
    // A phase may run in several rounds.
    this.#secondsByPhase[phase] = (this.#secondsByPhase[phase] ?? 0) + (Date.now() - startedAt) / 1000;
    return result;
  }
}

const percent = (value: number | null): string => (value === null ? '–' : `${(100 * value).toFixed(1)} %`);

/** The experiment at a glance, in Markdown, for Temporal's UI and `temporal workflow describe`. */
export function experimentDetails(progress: Progress): string {
  const { experiment, arm, status, epoch, epochs, band, difficulty, epochSeconds, notes, waiting } = progress;
  const minutesLeft = epochSeconds === null ? null : Math.ceil(((epochs - epoch) * epochSeconds) / 60);
  const timeLeft = minutesLeft === null ? '–' : `${minutesLeft} min`;
  const successRates =
    `${percent(progress.successRate)} (last 5: ${percent(mean(progress.recentSuccessRates.slice(-5)))}; ` +
    `band ${percent(band[0])} to ${percent(band[1])})`;
  return [
    `**${experiment}** (${arm}): ${status}, epoch **${epoch}** of ${epochs}` +
      (status === 'running' ? `, about ${timeLeft} to go` : ''),
    ...(waiting === null ? [] : ['', `**${outageText(waiting)}**`]),
    '',
    '| | |',
    '| --- | --- |',
    `| success rate | ${successRates} |`,
    `| held-out success | ${percent(progress.heldOut)} |`,
    `| valid tasks, well-formed answers | ${percent(progress.validTasks)}, ${percent(progress.wellFormed)} |`,
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
