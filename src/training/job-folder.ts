import { constants } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Python } from '../processes/python.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { sha256 } from '../store/canonical-json.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import type { OnDamage } from '../store/errors.ts';
import {
  isPlainFile,
  MAX_LINES_BYTES,
  openPlainFile,
  readOpened,
  readPlainFile,
  requirePlainFolder,
} from '../store/plain-files.ts';
import { exitSchema, progressSchema, resultSchema } from '../types/training-job.ts';
import type { JobExit, JobProgress, JobResult, TrainingJob } from '../types/training-job.ts';
import { launchSchema } from './launcher.ts';
import type { JobHandle } from './launcher.ts';

/** `queue.json`: a job was seen to wait. `seconds`, once its wait is over and recorded. */
const queueSchema = z.strictObject({
  fence: z.int().min(1),
  seconds: z.number().min(0).nullable(),
});
export type QueueRecord = z.infer<typeof queueSchema>;

/** The newest intact line of the progress file, and its number counted from 1. */
type NewestProgress = { lines: number; last: JobProgress };
/** What was read of the progress file, up to the end of a line. */
type ReadProgress = { bytes: number; lines: number; newest: NewestProgress | undefined };
const noProgress: ReadProgress = { bytes: 0, lines: 0, newest: undefined };

/** Python that fails if another process holds the lock. */
const tryLock = 'import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)';

/** The files of one job (docs/training-jobs.md), seen from the worker. */
export class JobFolder {
  readonly path: string;
  readonly #python: Python;
  readonly #onDamage: OnDamage;
  readonly #reported = new Set<string>();
  #progress: ReadProgress = noProgress;

  constructor(path: string, python: Python, onDamage: OnDamage) {
    this.path = path;
    this.#python = python;
    this.#onDamage = onDamage;
  }

  /** The file that the job's process has locked as long as it runs. */
  get lock(): string {
    return join(this.path, 'lock');
  }

  async job(): Promise<TrainingJob | undefined> {
    return (await this.#readSealed('job.json')) as TrainingJob | undefined;
  }

  async writeJob(job: TrainingJob): Promise<void> {
    await rm(join(this.path, 'exit.json'), { force: true });
    await atomicWrite(join(this.path, 'job.json'), seal(job));
  }

  /** Where the job was started; undefined if it was not, or the file is damaged. */
  async launch(): Promise<JobHandle | undefined> {
    const launch = launchSchema.safeParse(await this.#readSealed('launch.json')).data;
    return launch && { ...launch, folder: this.path };
  }

  async writeLaunch(handle: JobHandle): Promise<void> {
    const launch: Partial<JobHandle> = { ...handle };
    delete launch.folder;
    await atomicWrite(join(this.path, 'launch.json'), seal(launch));
  }

  /** What is known of the wait of a job in the queue of its back end; undefined if it was not seen to wait. */
  async queueWait(): Promise<QueueRecord | undefined> {
    return queueSchema.safeParse(await this.#readSealed('queue.json')).data;
  }

  async writeQueueWait(wait: QueueRecord): Promise<void> {
    await atomicWrite(join(this.path, 'queue.json'), seal(wait));
  }

  /** Names the trace that the next job belongs to; it is no input, so nothing hashes it. */
  async writeTraceParent(traceParent: string | undefined): Promise<void> {
    const file = join(this.path, 'traceparent');
    await (traceParent === undefined ? rm(file, { force: true }) : atomicWrite(file, traceParent));
  }

  async result(): Promise<JobResult | undefined> {
    const result = await this.#readSealed('result.json');
    return result === undefined ? undefined : resultSchema.parse(result);
  }

  /**
   * How the job ended. What a job under an earlier claim wrote, which came back from a host that was away, says nothing
   * of the one that runs.
   */
  async exit(): Promise<JobExit | undefined> {
    const sealed = await this.#readSealed('exit.json');
    if (sealed === undefined) return undefined;
    const exit = exitSchema.parse(sealed);
    const { fence = 0 } = (await this.job()) ?? {};
    return (exit.fence ?? fence) < fence ? undefined : exit;
  }

  /** Number of complete lines of the progress file, including those of earlier jobs in this folder. */
  async progressLines(): Promise<number> {
    return (await this.#readProgress()).lines;
  }

  /** The newest intact line of the progress file, and its number counted from 1. */
  async progress(): Promise<NewestProgress | undefined> {
    return (await this.#readProgress()).newest;
  }

  /** A folder of the job's output. @throws InvalidArtifact if the output is a link */
  async outputFolder(name: 'checkpoint' | 'trainer-state'): Promise<string> {
    const output = join(this.path, 'output');
    await requirePlainFolder(output);
    return join(output, name);
  }

  /** Removes a finished job's result and output: the next start resumes from the newest step checkpoint. */
  async discardOutput(): Promise<void> {
    await rm(join(this.path, 'result.json'), { force: true });
    await rm(join(this.path, 'output'), { recursive: true, force: true });
  }

  /**
   * A job is alive as long as it holds the lock. A process id does not show that: it may have been reused.
   */
  async isAlive(): Promise<boolean> {
    if (!(await isPlainFile(this.lock))) return false;
    return this.#python.run(['-c', tryLock, this.lock]).then(
      () => false,
      () => true,
    );
  }

  /** Tells the job that a worker still waits for it. */
  async touchLease(): Promise<void> {
    const lease = join(this.path, 'lease');
    await using handle = await openPlainFile(lease, constants.O_WRONLY | constants.O_CREAT);
    const now = new Date();
    await handle.utimes(now, now);
  }

  /**
   * Reads what the progress file has more than at the last look: it only grows, by a line a second while a job waits
   * for its device.
   */
  async #readProgress(): Promise<ReadProgress> {
    const path = join(this.path, 'progress.jsonl');
    await using handle = await undefinedIfMissing(openPlainFile(path, constants.O_RDONLY));
    if (handle === undefined) return noProgress;
    const isWrittenAnew = (await handle.stat()).size < this.#progress.bytes;
    const before = isWrittenAnew ? noProgress : this.#progress;
    const data = await readOpened(handle, path, MAX_LINES_BYTES, before.bytes);
    const bytes = data.lastIndexOf('\n') + 1;
    const added = data.toString('utf8', 0, bytes).split('\n').slice(0, -1);
    this.#progress = {
      bytes: before.bytes + bytes,
      lines: before.lines + added.length,
      newest: this.#newestOf(added, before.lines) ?? before.newest,
    };
    return this.#progress;
  }

  #newestOf(lines: readonly string[], linesBefore: number): NewestProgress | undefined {
    for (let count = lines.length; count > 0; count -= 1) {
      const last = parseProgress(lines[count - 1]!);
      if (last !== undefined) return { lines: linesBefore + count, last };
      this.#report('progress.jsonl', `line ${linesBefore + count} is damaged; it is passed over`);
    }
    return undefined;
  }

  /** A damaged file is reported and taken for missing. */
  async #readSealed(name: string): Promise<unknown> {
    const data = await undefinedIfMissing(readPlainFile(join(this.path, name)));
    const text = data?.toString('utf8');
    const value = text === undefined ? undefined : unseal(text);
    if (text !== undefined && value === undefined)
      this.#report(name, 'it is torn or altered, and taken for none');
    return value;
  }

  #report(name: string, problem: string): void {
    if (this.#reported.has(name + problem)) return;
    this.#reported.add(name + problem);
    this.#onDamage({ file: join(this.path, name), problem });
  }
}

function parseProgress(line: string): JobProgress | undefined {
  try {
    return progressSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

const mark = ',\n "sha256": "';
const tailOf = (head: string): string => `${mark}${sha256(head)}"\n}\n`;

/**
 * JSON text of an object that carries its own hash: the last field, `sha256`, is that of all text before it.
 */
export function seal(value: object): string {
  const head = JSON.stringify(value, null, 1).slice(0, -'\n}'.length);
  return head + tailOf(head);
}

/** The object without its seal; undefined if the text is torn or altered. */
export function unseal(text: string): unknown {
  const head = text.slice(0, Math.max(0, text.lastIndexOf(mark)));
  return text === head + tailOf(head) ? JSON.parse(`${head}\n}`) : undefined;
}
