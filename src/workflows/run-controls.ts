import { ApplicationFailure, condition, patched, setHandler } from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import type { FieldValues } from '../config/retune.ts';
import type { CommittedEpoch, Retuned } from '../types/activity-types.ts';
import type { epochWorkflow } from './epoch.ts';
import {
  pausedSignal,
  pauseUpdate,
  resumeUpdate,
  retuneUpdate,
  stopAfterEpochSignal,
  stopAfterEpochUpdate,
} from './messages.ts';
import type { ControlState } from './messages.ts';
import { modelOutages } from './model-outages.ts';

type EpochHandle = ChildWorkflowHandle<typeof epochWorkflow>;

export interface ControlCallbacks {
  /** Writes the change; the result says from which epoch on it is in effect. */
  retune: (set: FieldValues) => Promise<Retuned>;
  /** Called when the control state has changed. */
  publishProgress: () => void;
}

/**
 * Pause, resume, stop and retune of an experiment. Validators look at the state only; values are checked
 * where files are parsed.
 */
export class RunControls {
  /** Changed in place, so that its owner sees it. */
  readonly #controlState: ControlState;
  readonly #callbacks: ControlCallbacks;
  #closed = false;
  #pendingRetunes = 0;
  /** Settles with the retune that was asked for last. */
  #lastRetune: Promise<unknown> = Promise.resolve();
  #runningEpoch: EpochHandle | undefined;

  constructor(controlState: ControlState, callbacks: ControlCallbacks) {
    this.#controlState = controlState;
    this.#callbacks = callbacks;
  }

  registerHandlers(): void {
    const validator = (): void => this.#requireRunning();
    setHandler(pauseUpdate, () => this.#setPaused(true), { validator });
    setHandler(resumeUpdate, () => this.#setPaused(false), { validator: () => this.#requirePaused() });
    setHandler(stopAfterEpochUpdate, () => this.#stopAfterEpoch(), { validator });
    setHandler(stopAfterEpochSignal, () => void this.#stopAfterEpoch());
    setHandler(retuneUpdate, (set) => this.#retune(set), {
      validator: (set: unknown) => {
        this.#requireRunning();
        requireFieldValues(set);
      },
    });
  }

  /** Also waits until each retune is decided, so that it takes effect in the next epoch. */
  async waitWhilePaused(): Promise<void> {
    const state = this.#controlState;
    await condition(() => this.#pendingRetunes === 0 && (!state.paused || state.stopAfterEpoch));
  }

  /** The result of an epoch that was started with `paused`; it gets a signal when that changes. */
  async awaitEpoch(epoch: EpochHandle, paused: boolean): Promise<CommittedEpoch> {
    this.#runningEpoch = epoch;
    try {
      if (this.#controlState.paused !== paused) await this.#signalEpoch();
      return await epoch.result();
    } finally {
      modelOutages.dropChild(epoch.workflowId);
      this.#runningEpoch = undefined;
    }
  }

  /** Rejects every update from here on. */
  close(): void {
    this.#closed = true;
  }

  async #setPaused(paused: boolean): Promise<ControlState> {
    this.#controlState.paused = paused;
    this.#callbacks.publishProgress();
    await this.#signalEpoch();
    return { ...this.#controlState };
  }

  async #signalEpoch(): Promise<void> {
    try {
      await this.#runningEpoch?.signal(pausedSignal, this.#controlState.paused);
    } catch {
      // The epoch has just ended; the next one gets the state as its input.
    }
  }

  #stopAfterEpoch(): ControlState {
    this.#controlState.stopAfterEpoch = true;
    this.#callbacks.publishProgress();
    return { ...this.#controlState };
  }

  async #retune(set: FieldValues): Promise<Retuned> {
    this.#pendingRetunes += 1;
    const retune = (): Promise<Retuned> => this.#callbacks.retune(set);
    // One at a time: each reads the run's retunes, and writes them all.
    const turn =
      this.#pendingRetunes > 1 && patched('retunes-in-turn') ? this.#lastRetune.then(retune) : retune();
    this.#lastRetune = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      this.#pendingRetunes -= 1;
    }
  }

  #requireRunning(): void {
    if (this.#closed)
      throw ApplicationFailure.nonRetryable(
        'the experiment has ended; start the same id again to resume it',
        'Ended',
      );
  }

  #requirePaused(): void {
    this.#requireRunning();
    if (!this.#controlState.paused)
      throw ApplicationFailure.nonRetryable('resume: the experiment is not paused', 'NotPaused');
  }
}

function requireFieldValues(set: unknown): void {
  if (typeof set === 'object' && set !== null && !Array.isArray(set)) return;
  const value = set === undefined ? 'nothing' : JSON.stringify(set);
  throw ApplicationFailure.nonRetryable(
    `retune: got ${value}; expected an object of settings by dotted path, ` +
      'such as {"difficulty.alpha": 0.4}',
    'InvalidConfig',
  );
}
