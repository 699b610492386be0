import { open, readdir, readFile } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { atomicWrite, makeFolder } from './atomic-write.ts';
import { hashOf } from './canonical-json.ts';
import { ifExists, InvalidArtifact, onDisk } from './errors.ts';
import { Ledger } from './ledger.ts';
import type { LedgerBody } from './ledger.ts';
import { linesOf } from './read-bytes.ts';
import { checkRunId, isRunId } from './run-id.ts';
import { Serial } from './serial.ts';

export type RunEvent = { type: string; time?: string } & Record<string, unknown>;
export type MetricsLine = { epoch: number } & Record<string, unknown>;

/** What a person opens of a run: `runs/<id>/`. Nothing in it but the ledger and the experiment is needed to go on. */
export class RunFolder {
  readonly id: string;
  readonly path: string;
  readonly experimentFile: string;
  readonly ledgerFile: string;
  readonly eventsFile: string;
  readonly metricsFile: string;
  readonly tensorboardFolder: string;
  readonly reportFile: string;
  readonly #serial = new Serial();

  /** Makes nothing on disk. @throws InvalidConfig for an id that is no folder name */
  constructor(runsRoot: string, id: string) {
    this.id = checkRunId(id);
    this.path = join(resolve(runsRoot), id);
    this.experimentFile = join(this.path, 'experiment.json');
    this.ledgerFile = join(this.path, 'ledger.jsonl');
    this.eventsFile = join(this.path, 'events.jsonl');
    this.metricsFile = join(this.path, 'metrics.jsonl');
    this.tensorboardFolder = join(this.path, 'tensorboard');
    this.reportFile = join(this.path, 'report.html');
  }

  /** All run folders with an experiment file, by id. */
  static async list(runsRoot: string): Promise<RunFolder[]> {
    const entries = (await ifExists(readdir(resolve(runsRoot), { withFileTypes: true }))) ?? [];
    const runs = entries.filter((entry) => entry.isDirectory() && isRunId(entry.name)).map(({ name }) => new RunFolder(runsRoot, name));
    const found = await Promise.all(runs.map(async (run) => (await ifExists(readFile(run.experimentFile))) !== undefined));
    return runs.filter((_, index) => found[index]).sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Writes the experiment, and gives its hash: the ledger's anchor. @throws NotSerializable, StoreUnavailable */
  async writeExperiment(experiment: object): Promise<string> {
    const anchor = hashOf(experiment);
    await atomicWrite(this.experimentFile, `${JSON.stringify(experiment, null, 2)}\n`);
    return anchor;
  }

  /** The experiment and its hash, whatever its white space; undefined if there is none. @throws InvalidArtifact if it is no JSON */
  async readExperiment(): Promise<{ experiment: unknown; sha256: string } | undefined> {
    const text = await onDisk(this.experimentFile, () => ifExists(readFile(this.experimentFile, 'utf8')));
    if (text === undefined) return undefined;
    try {
      const experiment = JSON.parse(text) as unknown;
      return { experiment, sha256: hashOf(experiment) };
    } catch (error) {
      throw new InvalidArtifact(this.experimentFile, `not JSON: ${String(error)}`, {}, 'Restore it from the file the experiment was started with.');
    }
  }

  /** The ledger that starts from this anchor. */
  ledger<Body extends { epoch: number } = LedgerBody>(anchor: string): Ledger<Body> {
    return new Ledger<Body>(this.ledgerFile, anchor);
  }

  /** Adds an event, with the time now if it has none. @throws StoreUnavailable */
  async appendEvent(event: RunEvent): Promise<void> {
    await this.#append(this.eventsFile, { time: new Date().toISOString(), ...event });
  }

  /** Adds an epoch's metrics, unless that epoch has some. @throws StoreUnavailable */
  async appendMetrics(line: MetricsLine): Promise<void> {
    await this.#append(this.metricsFile, line, async () => (await this.metrics()).every(({ epoch }) => epoch !== line.epoch));
  }

  /** What can be read of the events; torn lines are passed over. */
  async events(): Promise<RunEvent[]> {
    return this.#lines<RunEvent>(this.eventsFile);
  }

  /** What can be read of the metrics; torn lines are passed over. */
  async metrics(): Promise<MetricsLine[]> {
    return this.#lines<MetricsLine>(this.metricsFile);
  }

  async #lines<T>(file: string): Promise<T[]> {
    return parseLines<T>((await onDisk(file, () => ifExists(readFile(file)))) ?? Buffer.alloc(0));
  }

  async #append(file: string, line: object, wanted = () => Promise.resolve(true)): Promise<void> {
    await this.#serial.run(async () => {
      await makeFolder(this.path);
      await onDisk(file, async () => {
        const handle = await open(file, 'a+');
        try {
          if (await wanted()) await writeLine(handle, JSON.stringify(line));
        } finally {
          await handle.close();
        }
      });
    });
  }
}

async function writeLine(handle: FileHandle, line: string): Promise<void> {
  const { size } = await handle.stat();
  const last = Buffer.alloc(1, '\n');
  if (size > 0) await handle.read(last, 0, 1, size - 1);
  // After a torn line, a new one starts: only the torn one is lost.
  await handle.appendFile(`${last.toString() === '\n' ? '' : '\n'}${line}\n`);
  await handle.sync();
}

function parseLines<T>(data: Buffer): T[] {
  return [...linesOf(data)].flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}
