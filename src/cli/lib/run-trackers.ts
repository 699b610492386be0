/** The processes that send a run to trackers beside it: none of them can fail the run, or slow it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { repository } from '../../../infra/setup/locations.mjs';
import { lastTurn } from '../../runs/last-turn.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { runsFolder } from '../../runs/run-overview.ts';
import { sharedPlace } from '../../store/shared-folders.ts';
import type { TrackerName } from '../../tracking/trackers.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../context.ts';

export interface Tracked {
  trackers: readonly TrackerName[];
  home: string;
  runId: string;
}

const LOOK_MS = 500;
const END_LOOK_MS = 2_000;
/** Each look at a bucket costs requests. */
const BUCKET_LOOK_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;
const GRACE_MS = 20_000;
const command = join(repository, 'src/cli/genenv.ts');

/** Followers of one run (`genenv track`), from its first epoch on. */
export class RunTrackers {
  readonly #followers: Follower[];
  readonly #tracked: Tracked;
  readonly #context: CliContext;
  #ended: Promise<void> | undefined;

  constructor(tracked: Tracked, context: CliContext) {
    this.#tracked = tracked;
    this.#context = context;
    this.#followers = tracked.trackers.map((tracker) => new Follower(tracker, tracked, context));
  }

  /**
   * Asks all to send what is left, and waits for some seconds. Says in a line for each that has not caught up, which
   * command does. Called again, it waits for the same.
   */
  end(graceMs = GRACE_MS): Promise<void> {
    return (this.#ended ??= this.#end(graceMs));
  }

  /** Ids of the processes that run now. */
  processes(): number[] {
    return this.#followers.flatMap(({ pid }) => pid ?? []);
  }

  async #end(graceMs: number): Promise<void> {
    const ends = this.#followers.map((follower) => follower.end(graceMs));
    for (const [index, caughtUp] of (await Promise.all(ends)).entries())
      if (!caughtUp) {
        const { tracker, log } = this.#followers[index]!;
        this.#context.warn(
          `${tracker} has not all epochs of ${this.#tracked.runId}. \`npx genenv track ${this.#tracked.runId} --to ` +
            `${tracker}\` sends the rest; ${log} says why.`,
        );
      }
  }
}

/** One process, started again with growing pauses. */
class Follower {
  readonly tracker: TrackerName;
  readonly log: string;
  readonly #folder: RunFolder;
  readonly #context: CliContext;
  readonly #stop = new AbortController();
  readonly #running: Promise<boolean>;
  #child: ChildProcess | undefined;

  constructor(tracker: TrackerName, { home, runId }: Tracked, context: CliContext) {
    this.tracker = tracker;
    this.log = join(home, 'trackers', 'logs', `${runId}-${tracker}.log`);
    this.#folder = new RunFolder(runsFolder(home), runId);
    this.#context = context;
    this.#running = this.#run().catch(() => false);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether the tracker has all that was committed. */
  async end(graceMs: number): Promise<boolean> {
    this.#stop.abort();
    this.#child?.stdin?.end();
    const late = new AbortController();
    const timeout = sleep(graceMs, false, { signal: late.signal }).catch(() => false);
    const caughtUp = await Promise.race([this.#running, timeout]);
    late.abort();
    this.#child?.kill('SIGKILL');
    return caughtUp;
  }

  async #run(): Promise<boolean> {
    // The worker makes the folder; one that is elsewhere makes it elsewhere.
    while ((await this.#folder.readExperiment().catch(() => undefined)) === undefined) {
      if (this.#stop.signal.aborted) return false;
      await this.#pause(this.#lookMs(LOOK_MS));
    }
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(MAX_PAUSE_MS, 2 * pause)) {
      const code = await this.#follow();
      if (code === exitCodes.ok) {
        if (this.#stop.signal.aborted || (await this.#staysEnded())) return true;
        pause = FIRST_PAUSE_MS;
        continue;
      }
      if (code === exitCodes.badInput || this.#stop.signal.aborted) return false;
      await this.#pause(pause);
    }
  }

  /**
   * Waits while the end that was followed is the run's last turn; false if the run has gone on since, or may have:
   * its events could not be read.
   */
  async #staysEnded(): Promise<boolean> {
    let endTime: unknown;
    for (;;) {
      const turn = await this.#folder.events().then(lastTurn, () => 'unreadable' as const);
      if (turn !== 'unreadable') {
        endTime ??= turn?.time;
        if (turn?.type !== 'ended' || turn.time !== endTime) return false;
        if (this.#stop.signal.aborted) return true;
      }
      await this.#pause(this.#lookMs(END_LOOK_MS));
      if (turn === 'unreadable') return false;
    }
  }

  /** The exit code of a process that follows until the run, this process or its standard input ends. */
  async #follow(): Promise<number | null> {
    mkdirSync(dirname(this.log), { recursive: true });
    const log = openSync(this.log, 'a');
    try {
      // Ctrl-C in the terminal is for the run: its last epoch is sent too.
      const child = spawn(
        process.execPath,
        [command, 'track', this.#folder.id, '--to', this.tracker, '--attached'],
        { env: this.#context.env, detached: true, stdio: ['pipe', log, log] },
      );
      this.#child = child;
      child.stdin?.on('error', () => undefined);
      if (this.#stop.signal.aborted) child.stdin?.end();
      return await new Promise<number | null>((resolve) => {
        child.once('error', () => resolve(null));
        child.once('exit', (code) => resolve(code));
      });
    } finally {
      this.#child = undefined;
      closeSync(log);
    }
  }

  /** The pause between two looks at the run's files. */
  #lookMs(onDisk: number): number {
    return sharedPlace(this.#folder.path) === undefined ? onDisk : BUCKET_LOOK_MS;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
