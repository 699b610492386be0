import {
  allHandlersFinished,
  CancellationScope,
  condition,
  ContinueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { FieldValues } from '../config/retune.ts';
import { shownNotes } from '../scoring/epoch-notes.ts';
import type { RunOutcome } from '../types/activity-inputs.ts';
import type { CommittedEpoch, OpenedEpoch, Retuned } from '../types/activity-types.ts';
import type { RunPlan } from '../types/run-state.ts';
import { parseExperiment, proxyPhaseActivities } from './activity-proxies.ts';
import { failureType, isRetryableEpochFailure, rootMessage, runChildEpoch } from './child-epoch.ts';
import { runPreparation } from '../epochs/epoch-pipeline.ts';
import { continueAsNew, isPinnedToOlderVersion } from './continue-as-new.ts';
import type { ContinueAsNewState } from './continue-as-new.ts';
import { evaluateOnBenchmarks } from './evaluation.ts';
import { experimentResult, outcomeAt } from './experiment-outcome.ts';
import type { ExperimentResult } from './experiment-outcome.ts';
import { progressQuery } from './messages.ts';
import type { ControlState } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { experimentDetails, ProgressTracker, searchAttributes, Stopwatch } from './progress.ts';
import { RunControls } from './run-controls.ts';

/** What the next epoch starts from: the last committed epoch, and the settings now in effect. */
export type NextEpoch = OpenedEpoch & { last: CommittedEpoch };

/** Failures in a row, with no epoch committed between them, before the experiment fails. */
const maxEpochFailures = 5;

/** The steps of an experiment's workflow, and what it remembers between them. */
export class ExperimentRun {
  readonly #stopwatch = new Stopwatch();
  readonly #controlState: ControlState;
  readonly #controls: RunControls;
  readonly #tracker: ProgressTracker;
  #plan: RunPlan | undefined;
  /** Null before the preparation, which is epoch 0. */
  #lastCommittedEpoch: number | null;
  #lastEvaluatedEpoch: number | undefined;
  /** Whether the settings of the next epoch can still change. */
  #settingsOpen = true;
  /** Whether the next opening compares every byte: the first one of an experiment, and after a failure. */
  #verifyArtifacts: boolean;
  #epochsThisRun = 0;
  #consecutiveFailures = 0;

  constructor(previous: ContinueAsNewState | undefined) {
    this.#plan = previous?.plan;
    this.#lastCommittedEpoch = previous?.known ?? null;
    this.#lastEvaluatedEpoch = previous?.evaluated;
    this.#verifyArtifacts = previous === undefined;
    this.#controlState = previous?.asked ?? { paused: false, stopAfterEpoch: false };
    this.#tracker = new ProgressTracker(this.#stopwatch, this.#controlState, previous?.recent);
    this.#controls = new RunControls(this.#controlState, {
      retune: (set) => this.#retune(set),
      publishProgress: () => this.#publishProgress(),
    });
  }

  /** Answers queries and updates from here on; updates that came with the start are handled at once. */
  registerHandlers(): void {
    setHandler(progressQuery, () => this.#tracker.snapshot());
    modelOutages.show({
      phase: (child) => this.#tracker.phase(child),
      onChange: () => setCurrentDetails(experimentDetails(this.#tracker.snapshot())),
    });
    this.#controls.registerHandlers();
  }

  async loadPlan(file: unknown): Promise<RunPlan> {
    this.#plan ??= await parseExperiment({ id: workflowInfo().workflowId, file: file ?? null });
    this.#tracker.useSettings(this.#plan.settings);
    return this.#plan;
  }

  /** Retunes that arrive before this ends take effect in the next epoch; later ones in the one after it. */
  async waitWhilePaused(): Promise<void> {
    this.#settingsOpen = true;
    await this.#controls.waitWhilePaused();
    this.#settingsOpen = false;
  }

  /** Finds in the run's files where it stands and which settings are in effect. */
  async openNextEpoch({ run, settings }: RunPlan): Promise<OpenedEpoch> {
    const opened = await proxyPhaseActivities(settings).openEpoch({
      id: run.id,
      // eslint-disable-next-line id-denylist -- a field on the wire
      known: this.#lastCommittedEpoch,
      thorough: this.#verifyArtifacts,
    });
    this.#verifyArtifacts = false;
    this.#tracker.useSettings(opened.settings);
    return opened;
  }

  /** Runs the preparation, epoch 0, if nothing is committed yet. */
  async prepareIfFresh(opened: OpenedEpoch): Promise<NextEpoch> {
    const last = opened.last ?? (await this.#prepare(opened));
    this.#recordCommit(last);
    return { ...opened, last };
  }

  async #prepare(opened: OpenedEpoch): Promise<CommittedEpoch> {
    const activities = proxyPhaseActivities(opened.settings);
    const prepared = await runPreparation(activities, opened, this.#stopwatch.runner());
    for (const note of shownNotes(prepared.notes)) this.#tracker.addNote(note);
    return prepared;
  }

  /** Once for each epoch. A failure is only noted. */
  async evaluateOnBenchmarksIfDue({ settings, last }: NextEpoch): Promise<void> {
    if (last.epoch === this.#lastEvaluatedEpoch) return;
    const problem = await evaluateOnBenchmarks(settings, last);
    if (problem !== undefined) this.#tracker.addNote(problem);
    this.#lastEvaluatedEpoch = last.epoch;
  }

  /** How the experiment ends here; undefined if it continues. */
  outcomeAt({ settings, last }: NextEpoch): ExperimentResult['outcome'] | undefined {
    return outcomeAt(last, settings, this.#controlState);
  }

  shouldContinueAsNew({ settings }: NextEpoch): boolean {
    return (
      this.#epochsThisRun >= settings.epochsPerRun ||
      workflowInfo().continueAsNewSuggested ||
      this.#isOutdated()
    );
  }

  #isOutdated(): boolean {
    return isPinnedToOlderVersion() && this.#epochsThisRun > 0;
  }

  async continueAsNew({ settings }: NextEpoch): Promise<never> {
    const isOutdated = this.#isOutdated();
    await condition(allHandlersFinished);
    const evaluated = settings.benchmarks && this.#lastEvaluatedEpoch;
    const state: ContinueAsNewState = {
      plan: this.#plan!,
      // eslint-disable-next-line id-denylist -- a field on the wire
      known: this.#lastCommittedEpoch,
      recent: this.#tracker.history,
      // eslint-disable-next-line id-denylist -- a field on the wire
      asked: this.#controlState,
      ...(evaluated !== undefined && { evaluated }),
    };
    return continueAsNew(state, { isOutdated });
  }

  async runEpoch({ run, settings, last }: NextEpoch): Promise<void> {
    const epoch = last.epoch + 1;
    this.#tracker.startEpoch(epoch);
    const { paused } = this.#controlState;
    const committed = await runChildEpoch(
      { run, settings, epoch, state: last.state, paused },
      this.#controls,
    );
    this.#recordCommit(committed);
    this.#publishProgress();
    this.#epochsThisRun += 1;
    this.#consecutiveFailures = 0;
  }

  canRetryAfter(error: unknown): boolean {
    // A cancellation of the experiment reaches it as the failure of its epoch.
    if (CancellationScope.current().consideredCancelled) return false;
    return isRetryableEpochFailure(error) && this.#consecutiveFailures + 1 < maxEpochFailures;
  }

  async waitBeforeRetry(error: unknown): Promise<void> {
    this.#consecutiveFailures += 1;
    const reason = failureType(error) ?? 'ended from outside';
    this.#tracker.addNote(`epoch ${this.#nextEpoch()}: ${reason}; checked and run again`);
    this.#verifyArtifacts = true;
    await sleep('1s');
  }

  async finish(outcome: ExperimentResult['outcome'], last: CommittedEpoch): Promise<ExperimentResult> {
    await this.#recordOutcome(this.#plan!, outcome);
    return experimentResult(outcome, last, this.#tracker.history.heldOut);
  }

  /** Does nothing if the workflow continues as new, or if there is no run whose files could say so. */
  async recordFailure(error: unknown): Promise<void> {
    const plan = this.#plan;
    if (plan === undefined || error instanceof ContinueAsNew) return;
    const outcome = isCancellation(error) ? 'cancelled' : 'failed';
    await CancellationScope.nonCancellable(() => this.#recordOutcome(plan, outcome, rootMessage(error)));
  }

  async #recordOutcome({ run, settings }: RunPlan, outcome: RunOutcome, reason?: string): Promise<void> {
    this.#controls.close();
    this.#tracker.setOutcome(outcome);
    this.#publishProgress();
    await proxyPhaseActivities(settings).recordEnd({
      id: run.id,
      outcome,
      epoch: this.#lastCommittedEpoch ?? 0,
      ...(reason === undefined ? {} : { reason }),
    });
    await condition(allHandlersFinished);
  }

  async #retune(set: FieldValues): Promise<Retuned> {
    await condition(() => this.#plan !== undefined);
    const { run, settings } = this.#plan!;
    return proxyPhaseActivities(settings).retuneExperiment({
      id: run.id,
      set,
      fromEpoch: this.#nextDecidableEpoch(),
    });
  }

  /** The first epoch whose settings can still change. */
  #nextDecidableEpoch(): number {
    return this.#settingsOpen ? this.#nextEpoch() : this.#nextEpoch() + 1;
  }

  /** 0 is the preparation. */
  #nextEpoch(): number {
    return this.#lastCommittedEpoch === null ? 0 : this.#lastCommittedEpoch + 1;
  }

  #recordCommit(committed: CommittedEpoch): void {
    this.#lastCommittedEpoch = committed.epoch;
    this.#tracker.recordCommit(committed);
  }

  #publishProgress(): void {
    const progress = this.#tracker.snapshot();
    setCurrentDetails(experimentDetails(progress));
    if (this.#plan?.searchAttributes) upsertSearchAttributes(searchAttributes(progress));
  }
}
