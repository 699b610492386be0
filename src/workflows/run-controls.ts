import { ApplicationFailure, condition, setHandler } from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import type { FieldValues } from '../config/retune.ts';
import type { CommittedEpoch, Retuned } from '../types/activity-types.ts';
import type { epoch } from './epoch.ts';
import {
  pausedSignal,
  pauseUpdate,
  resumeUpdate,
  retuneUpdate,
  stopAfterEpochSignal,
  stopAfterEpochUpdate,
} from './messages.ts';
import type { ControlState } from './messages.ts';

/**
 * Pause, resume, stop and retune of an experiment. Validators look at the state only; values are judged where
 * files are parsed.
 */
export class RunControls {
  readonly asked: ControlState;
  #ended = false;
  #retuning = 0;
  #child: ChildWorkflowHandle<typeof epoch> | undefined;

  readonly #tellPeople: () => void;

  /**
   * @param asked what was asked so far; changed in place
   * @param retune writes the change, from the epoch on that it is given back for
   * @param tellPeople called when what was asked has changed
   */
  constructor(
    asked: ControlState,
    { retune, tellPeople }: { retune: (set: FieldValues) => Promise<Retuned>; tellPeople: () => void },
  ) {
    this.asked = asked;
    this.#tellPeople = tellPeople;
    const validator = (): void => this.#mustRun();
    setHandler(pauseUpdate, () => this.#pause(true), { validator });
    setHandler(resumeUpdate, () => this.#pause(false), {
      validator: () => {
        this.#mustRun();
        if (!this.asked.paused)
          throw ApplicationFailure.nonRetryable('resume: the experiment is not paused', 'NotPaused');
      },
    });
    setHandler(stopAfterEpochUpdate, () => this.#stop(), { validator });
    setHandler(stopAfterEpochSignal, () => void this.#stop());
    setHandler(retuneUpdate, (set) => this.#retune(retune, set), {
      validator: (set: unknown) => {
        this.#mustRun();
        if (typeof set !== 'object' || set === null || Array.isArray(set))
          throw ApplicationFailure.nonRetryable(
            `retune: got ${set === undefined ? 'nothing' : JSON.stringify(set)}; expected an object of settings by dotted path, such as {"difficulty.alpha": 0.4}`,
            'InvalidConfig',
          );
      },
    });
  }

  /**
   * Waits while the experiment is paused, and until what is being retuned is decided, so that it holds for
   * the next epoch.
   */
  async boundary(): Promise<void> {
    await condition(() => this.#retuning === 0 && (!this.asked.paused || this.asked.stopAfterEpoch));
  }

  /** The result of an epoch that was started as `paused` says; it is told of what is asked meanwhile. */
  async follow(child: ChildWorkflowHandle<typeof epoch>, paused: boolean): Promise<CommittedEpoch> {
    this.#child = child;
    try {
      if (this.asked.paused !== paused) await this.#tellEpoch();
      return await child.result();
    } finally {
      this.#child = undefined;
    }
  }

  /** From here on nothing can be asked. */
  end(): void {
    this.#ended = true;
  }

  async #pause(paused: boolean): Promise<ControlState> {
    this.asked.paused = paused;
    this.#tellPeople();
    await this.#tellEpoch();
    return { ...this.asked };
  }

  async #tellEpoch(): Promise<void> {
    try {
      await this.#child?.signal(pausedSignal, this.asked.paused);
    } catch {
      // It has just ended; the next one is told as it starts.
    }
  }

  #stop(): ControlState {
    this.asked.stopAfterEpoch = true;
    this.#tellPeople();
    return { ...this.asked };
  }

  async #retune(retune: (set: FieldValues) => Promise<Retuned>, set: FieldValues): Promise<Retuned> {
    this.#retuning += 1;
    try {
      return await retune(set);
    } finally {
      this.#retuning -= 1;
    }
  }

  #mustRun(): void {
    if (this.#ended)
      throw ApplicationFailure.nonRetryable(
        'the experiment has ended; start the same id again to go on',
        'Ended',
      );
  }
}
