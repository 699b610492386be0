import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Mutex } from 'async-mutex';
import type { z } from 'zod';
import { canonicalJson, hashOf } from '../store/canonical-json.ts';
import { errorCode, InvalidArtifact, undefinedIfMissing, withDiskErrors } from '../store/errors.ts';
import { parseLines, problemOf, readJsonFile, readJsonLines, writeLine } from '../store/json-files.ts';
import type { LedgerBody, LedgerLine } from '../store/ledger-chain.ts';
import { Ledger } from '../store/ledger.ts';
import { checkRunId, isRunId, zeroPad } from '../store/phase-cache.ts';
import { openPlainFile, openToAppend, requirePlainFolder } from '../store/plain-files.ts';
import { followNoLinksBelow } from '../store/real-place.ts';
import { refreshCopy, removeShared, writeShared } from '../store/shared-files.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { createLine, refreshLines } from '../store/shared-lines.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { eventSchema, forkSchema, metricsLineSchema, retunesSchema } from './file-schemas.ts';
import type { MetricsLine, RunEvent } from './file-schemas.ts';

/**
 * The start of a fork: an epoch of another run, with its ledger line, whose hash anchors the fork's ledger.
 */
export type Fork<Body extends { epoch: number } = LedgerBody> = {
  run: string;
  epoch: number;
  line: LedgerLine<Body>;
};

/** Settings of a run that were changed from an epoch on. */
export type Retune = { fromEpoch: number; set: Record<string, unknown>; time: string };

/** A run that can be resumed: its experiment file, and its ledger from the right anchor. */
export type OpenedRun<Body extends { epoch: number }> = {
  experiment: unknown;
  sha256: string;
  fork: Fork<Body> | undefined;
  ledger: Ledger<Body>;
};

const FORK_REMEDY =
  'Remove the file and start the same id again: it is made from the run that `startFrom` names.';

/** The files of a run for people: `runs/<id>/`. Only the ledger and the experiment are needed to resume. */
export class RunFolder {
  readonly id: string;
  readonly path: string;
  readonly experimentFile: string;
  readonly ledgerFile: string;
  readonly eventsFile: string;
  readonly metricsFile: string;
  readonly tensorboardFolder: string;
  readonly reportFile: string;
  readonly forkFile: string;
  readonly retunesFile: string;
  readonly branchesFolder: string;
  readonly #mutex = new Mutex();

  /** Makes nothing on disk. @throws InvalidConfig for an id that cannot be a folder name */
  constructor(runsRoot: string, id: string) {
    this.id = checkRunId(id);
    this.path = join(followNoLinksBelow(runsRoot), id);
    this.experimentFile = join(this.path, 'experiment.json');
    this.ledgerFile = join(this.path, 'ledger.jsonl');
    this.eventsFile = join(this.path, 'events.jsonl');
    this.metricsFile = join(this.path, 'metrics.jsonl');
    this.tensorboardFolder = join(this.path, 'tensorboard');
    this.reportFile = join(this.path, 'report.html');
    this.forkFile = join(this.path, 'fork.json');
    this.retunesFile = join(this.path, 'retunes.json');
    this.branchesFolder = join(this.path, 'branches');
  }

  /** All run folders with an experiment file, by id; a link in the place of either is none. */
  static async list(runsRoot: string): Promise<RunFolder[]> {
    const place = sharedPlace(runsRoot);
    if (place !== undefined) {
      const ids = (await place.bucket.folders(`${place.key}/`)).filter(isRunId);
      return ids.map((id) => new RunFolder(runsRoot, id));
    }
    const entries = (await undefinedIfMissing(readdir(resolve(runsRoot), { withFileTypes: true }))) ?? [];
    const runs = entries
      .filter((entry) => entry.isDirectory() && isRunId(entry.name))
      .map(({ name }) => new RunFolder(runsRoot, name));
    const exists = await Promise.all(
      runs.map(async (run) => (await undefinedIfMissing(lstat(run.experimentFile)))?.isFile() === true),
    );
    return runs.filter((_, index) => exists[index]).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /**
   * Writes the experiment and returns its hash, the ledger's anchor. @throws NotSerializable,
   * StoreUnavailable
   */
  async writeExperiment(experiment: object): Promise<string> {
    const anchor = hashOf(experiment);
    await requirePlainFolder(this.path);
    await refreshCopy(this.experimentFile);
    await writeShared(this.experimentFile, `${JSON.stringify(experiment, null, 2)}\n`);
    return anchor;
  }

  /**
   * The experiment and its hash, independent of white space; undefined if there is none.
   * @throws InvalidArtifact if it is not JSON, or the folder is a link
   */
  async readExperiment(): Promise<{ experiment: unknown; sha256: string } | undefined> {
    await requirePlainFolder(this.path);
    await refreshCopy(this.experimentFile);
    const experiment = await readJsonFile<unknown>(
      this.experimentFile,
      'Restore it from the file the experiment was started with.',
    );
    return experiment === undefined ? undefined : { experiment, sha256: hashOf(experiment) };
  }

  /** The start of this run if it is a fork; undefined if not. @throws InvalidArtifact */
  async readFork<Body extends { epoch: number } = LedgerBody>(): Promise<Fork<Body> | undefined> {
    await refreshCopy(this.forkFile);
    return readJsonFile<Fork<Body>>(this.forkFile, FORK_REMEDY, forkSchema);
  }

  /** @throws StoreUnavailable */
  async writeFork<Body extends { epoch: number }>(fork: Fork<Body>): Promise<void> {
    await writeShared(this.forkFile, canonicalJson(fork));
  }

  /** @throws StoreUnavailable */
  async removeFork(): Promise<void> {
    await removeShared(this.forkFile);
  }

  /** The retunes, in order of the epochs. @throws InvalidArtifact */
  async readRetunes(): Promise<Retune[]> {
    await refreshCopy(this.retunesFile);
    return (
      (await readJsonFile<Retune[]>(
        this.retunesFile,
        'Restore it, or remove it to continue with the settings of experiment.json.',
        retunesSchema,
      )) ?? []
    );
  }

  /** @throws StoreUnavailable */
  async writeRetunes(retunes: readonly Retune[]): Promise<void> {
    await writeShared(this.retunesFile, `${JSON.stringify(retunes, null, 2)}\n`);
  }

  /**
   * The run with its ledger, which a fork's parent anchors; undefined if there is no such run.
   * @param schema of the lines of ledger and fork; without one, their hashes alone are checked
   * @throws InvalidArtifact
   */
  async open<Body extends { epoch: number } = LedgerBody>(
    schema?: z.ZodType,
  ): Promise<OpenedRun<Body> | undefined> {
    const run = await this.readExperiment();
    if (run === undefined) return undefined;
    const fork = await this.readFork<Body>();
    const problem = fork && schema && problemOf(fork.line, schema);
    if (problem !== undefined) throw new InvalidArtifact(this.forkFile, `line: ${problem}`, {}, FORK_REMEDY);
    const ledger =
      fork === undefined
        ? new Ledger<Body>(this.ledgerFile, run.sha256, 0, schema)
        : new Ledger<Body>(this.ledgerFile, hashOf(fork.line), fork.epoch + 1, schema);
    return { ...run, fork, ledger };
  }

  /** The ledger with this anchor and first epoch. */
  ledger<Body extends { epoch: number } = LedgerBody>(anchor: string, first = 0): Ledger<Body> {
    return new Ledger<Body>(this.ledgerFile, anchor, first);
  }

  /** Adds an event, with the current time if it has none. @throws InvalidConfig without a run, StoreUnavailable */
  async appendEvent(event: RunEvent): Promise<void> {
    const now = new Date().toISOString();
    const line = { time: now, ...event };
    if (!this.#isShared) return this.#append(this.eventsFile, line);
    await this.#requireExperiment();
    const name = `${now.replaceAll(':', '-')}-${randomBytes(4).toString('hex')}`;
    await createLine(this.eventsFile, name, JSON.stringify(line));
  }

  /** Adds an epoch's metrics, unless it has some already. @throws StoreUnavailable */
  async appendMetrics(line: MetricsLine): Promise<void> {
    if (this.#isShared) {
      await this.#requireExperiment();
      await createLine(this.metricsFile, zeroPad(line.epoch, 6), JSON.stringify(line));
      return;
    }
    await this.#append(
      this.metricsFile,
      line,
      async (handle) => (await newestUpTo(handle, line.epoch))?.epoch !== line.epoch,
    );
  }

  /** The readable events; torn lines, and lines that are no events, are skipped. */
  async events(): Promise<RunEvent[]> {
    await refreshLines(this.eventsFile);
    return readJsonLines(this.eventsFile, eventSchema);
  }

  /** The readable metrics; torn lines, and lines that are no metrics, are skipped. */
  async metrics(): Promise<MetricsLine[]> {
    await refreshLines(this.metricsFile);
    return readJsonLines(this.metricsFile, metricsLineSchema);
  }

  /** The newest readable metrics; undefined before the first epoch. */
  async lastMetrics(): Promise<MetricsLine | undefined> {
    await refreshLines(this.metricsFile);
    const handle = await undefinedIfMissing(openPlainFile(this.metricsFile, constants.O_RDONLY));
    if (handle === undefined) return undefined;
    try {
      return await newestUpTo(handle, Infinity);
    } finally {
      await handle.close();
    }
  }

  /**
   * Brings this disk's copies of the run's files up to date, for readers of the files themselves; nothing if no
   * bucket has them. @throws StoreUnavailable
   */
  async refresh(): Promise<void> {
    if (!this.#isShared) return;
    for (const file of [this.experimentFile, this.forkFile, this.retunesFile]) await refreshCopy(file);
    for (const file of [this.ledgerFile, this.metricsFile, this.eventsFile]) await refreshLines(file);
  }

  get #isShared(): boolean {
    return sharedPlace(this.path) !== undefined;
  }

  /** @throws InvalidConfig without a run */
  async #requireExperiment(): Promise<void> {
    if (await undefinedIfMissing(lstat(this.experimentFile))) return;
    if ((await this.readExperiment()) === undefined) throw noRun(this.id);
  }

  async #append(
    file: string,
    line: object,
    isNeeded: (handle: FileHandle) => Promise<boolean> = () => Promise.resolve(true),
  ): Promise<void> {
    await this.#mutex.runExclusive(async () => {
      await requirePlainFolder(this.path);
      await withDiskErrors(file, async () => {
        const handle = await openToAppend(file).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT') throw error;
          throw noRun(this.id);
        });
        try {
          if (await isNeeded(handle)) await writeLine(handle, JSON.stringify(line));
        } finally {
          await handle.close();
        }
      });
    });
  }
}

const noRun = (id: string): InvalidConfig => new InvalidConfig(`run: there is no run ${JSON.stringify(id)}`);

/** Bytes from the end of the file among which the line is looked for. */
const MAX_TAIL = 1 << 26;

/** The newest line of an epoch up to this one. Epochs are in order, so it is near the end of a long file. */
async function newestUpTo(handle: FileHandle, epoch: number): Promise<MetricsLine | undefined> {
  const { size } = await handle.stat();
  for (let length = Math.min(size, 1 << 16); ; length = Math.min(size, 2 * length)) {
    const tail = Buffer.alloc(length);
    await handle.read(tail, 0, length, size - length);
    // The tail may start within a line: that line is left to the next, longer tail.
    const lines = length === size ? tail : tail.subarray(tail.indexOf('\n') + 1);
    const newest = parseLines<MetricsLine>(lines).findLast((line) => line.epoch <= epoch);
    if (newest !== undefined || length === size || length >= MAX_TAIL) return newest;
  }
}
