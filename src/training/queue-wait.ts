import type { JobFolder } from './job-folder.ts';
import type { JobHandle, Launcher } from './launcher.ts';

/** Waits below this are the back end's own business. */
const minSeconds = 1;

/**
 * The wait of a job in the queue of its back end, which counts once, whoever sees its end. The worker that saw a
 * job wait may be killed before it begins, so the job's folder remembers it.
 */
export class QueueWait {
  readonly #folder: JobFolder;
  readonly #handle: JobHandle;
  readonly #launcher: Launcher;
  readonly #onWaited: (seconds: number) => Promise<void>;
  #isNoted = false;
  #isOver = false;

  /** @param onWaited records the wait; called again only if a worker died while it recorded it */
  constructor(
    folder: JobFolder,
    handle: JobHandle,
    launcher: Launcher,
    onWaited: (seconds: number) => Promise<void>,
  ) {
    this.#folder = folder;
    this.#handle = handle;
    this.#launcher = launcher;
    this.#onWaited = onWaited;
  }

  /** The job was seen in the queue. */
  async note(): Promise<void> {
    if (this.#isNoted) return;
    const { fence } = this.#handle;
    if ((await this.#folder.queueWait())?.fence !== fence)
      await this.#folder.writeQueueWait({ fence, seconds: null });
    this.#isNoted = true;
  }

  /** The job has begun, or has ended already. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    const { fence, submitted } = this.#handle;
    const noted = await this.#folder.queueWait();
    const isRecorded = noted?.fence === fence && noted.seconds !== null;
    if (!isRecorded) {
      const wasSeen = noted?.fence === fence;
      const ms = (await this.#launcher.waitedMs?.(this.#handle)) ?? (wasSeen ? Date.now() - submitted : 0);
      const seconds = Math.max(0, ms) / 1000;
      if (seconds >= minSeconds) {
        await this.#onWaited(seconds);
        await this.#folder.writeQueueWait({ fence, seconds });
      }
    }
    this.#isOver = true;
  }
}
