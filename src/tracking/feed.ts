import { join } from 'node:path';
import { z } from 'zod';
import { parseExperiment } from '../config/parse-experiment.ts';
import { metricsLineSchema, metricsSchema } from '../runs/file-schemas.ts';
import type { MetricsLine, RunEvent } from '../runs/file-schemas.ts';
import { lastTurn } from '../runs/last-turn.ts';
import { runEnd } from '../runs/run-end.ts';
import type { RunEnd } from '../runs/run-end.ts';
import { RunFolder } from '../runs/run-folder.ts';
import { runsFolder } from '../runs/run-overview.ts';
import { experimentInEffect } from '../runs/settings-in-effect.ts';
import { fileStamp } from '../store/file-stamp.ts';
import { ObjectStore } from '../store/object-store.ts';
import { FileRef, FolderRef } from '../store/references.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { countCuts, identify } from './identity.ts';
import type { Identity } from './identity.ts';
import { samplesTable } from './samples-table.ts';
import type { SamplesTable } from './samples-table.ts';

/** An artifact that stays where it is. */
export interface TrackedReference {
  name: string;
  /** `genenv:<home>/store/objects/…`, relative to the home folder of that name. */
  uri: string;
  sha256: string;
}

/** What a tracker gets of an epoch; its step is the epoch. */
export interface TrackedEpoch {
  step: number;
  /** When it was committed, in seconds since 1970. */
  time: number;
  metrics: Record<string, number>;
  tables: SamplesTable[];
  references: TrackedReference[];
}

export interface TrackedRun extends Identity {
  name: string;
  /** The settings in effect. */
  config: object;
  tags: Record<string, string>;
}

export type Outcome = 'finished' | 'failed' | 'stopped';

/** A run as its verified ledger has it at one moment. */
export interface Snapshot {
  run: TrackedRun;
  /** Committed epochs, in order. */
  epochs: number[];
  /** How the run ended; null if it has not. */
  outcome: Outcome | null;
  /** Why lines after these are not sent; null if all are. */
  problem: string | null;
  describe: (epoch: number) => Promise<TrackedEpoch>;
}

const policy = z.looseObject({ name: z.string(), checkpoint: FolderRef.nullable() });
const file = FileRef.nullish();
const lineSchema = z.looseObject({
  epoch: metricsLineSchema.shape.epoch,
  inputs: z.looseObject({ settings: z.record(z.string(), z.number()).optional() }),
  outputs: z.looseObject({
    tasks: file,
    rewards: file,
    scores: file,
    decisions: file,
    state: z.looseObject({ agent: policy, environment: policy, tokens: z.number().optional() }).optional(),
  }),
  metrics: metricsSchema,
});
type Line = z.infer<typeof lineSchema>;

/** Reads what is sent of a run, from its folder alone. */
export class Feed {
  readonly #folder: RunFolder;
  readonly #store: ObjectStore;
  readonly #home: string;
  #last: { stamp: string; snapshot: Snapshot | null } | undefined;

  /** @param name of the home folder (`nameHome`) */
  constructor({ home, runId, name }: { home: string; runId: string; name: string }) {
    this.#folder = new RunFolder(runsFolder(home), runId);
    this.#store = new ObjectStore(join(home, 'store'));
    this.#home = name;
  }

  /**
   * The run as it is now; null while it is not to be read: before its first epoch, and during a rewind. While its
   * files on this disk stay as they are, they are not read again.
   * @param waits whether the last epoch is left out until `metrics.jsonl` has its times, a moment after the ledger
   * @throws InvalidArtifact, StoreUnavailable
   */
  async read(waits: boolean): Promise<Snapshot | null> {
    // Of a bucket only reading says what has changed.
    if (sharedPlace(this.#folder.path) !== undefined) return this.#read(waits);
    const { experimentFile, forkFile, ledgerFile, metricsFile, eventsFile, retunesFile, branchesFolder } =
      this.#folder;
    const files = [
      experimentFile,
      forkFile,
      ledgerFile,
      metricsFile,
      eventsFile,
      retunesFile,
      branchesFolder,
    ];
    const stamp = `${waits} ${await fileStamp(files)}`;
    if (this.#last?.stamp !== stamp) this.#last = { stamp, snapshot: await this.#read(waits) };
    return this.#last.snapshot;
  }

  async #read(waits: boolean): Promise<Snapshot | null> {
    const cuts = await countCuts(this.#folder);
    const events = await this.#folder.events();
    const opened = await this.#folder.open<Line>(lineSchema);
    if (opened === undefined) return null;
    const { chain, problem } = await opened.ledger.inspect();
    opened.ledger.requireLines(chain);
    const timed = new Map((await this.#folder.metrics()).map((line) => [line.epoch, line]));
    // A rewind first archives, then cuts: between the two, the old lines would go under the new name.
    if (isRewinding(events) || (await countCuts(this.#folder)) !== cuts) return null;
    const last = chain.lines.at(-1);
    const epoch = last?.epoch ?? null;
    const file = parseExperiment(opened.experiment);
    const config = await experimentInEffect(this.#folder, file, (epoch ?? -1) + 1);
    const turn = lastTurn(events);
    const end = runEnd(config, { epoch, tokens: last?.outputs.state?.tokens ?? 0 }, turn);
    const outcome = turn?.type === 'ended' ? outcomeOf(end) : null;
    const isHeldBack = waits && outcome === null && !timed.has(epoch ?? -1);
    const count = chain.lines.length - (isHeldBack ? 1 : 0);
    if (count < 1) return null;
    const lines = new Map(chain.lines.slice(0, count).map((line, index) => [line.epoch, index]));
    const identity = await identify(this.#folder, this.#home, cuts);
    return {
      run: { ...identity, name: this.#folder.id, config, tags: this.#tags(file.name, opened.sha256) },
      epochs: [...lines.keys()],
      outcome,
      problem: problem?.message ?? null,
      describe: (epoch) => {
        const index = lines.get(epoch)!;
        const [line, before] = [chain.lines[index]!, chain.lines[index - 1]];
        return this.#describe(line, { before, sha256: chain.hashes[index]!, timed });
      },
    };
  }

  #tags(experiment: string, experimentHash: string): Record<string, string> {
    return { run: this.#folder.id, home: this.#home, experiment, experimentHash };
  }

  async #describe(
    line: Line,
    { before, sha256, timed }: { before: Line | undefined; sha256: string; timed: Map<number, MetricsLine> },
  ): Promise<TrackedEpoch> {
    const { epoch, inputs, outputs } = line;
    const about = timed.get(epoch);
    const metrics = {
      ...about?.metrics,
      ...line.metrics,
      ...prefixed('time/', about?.time),
      ...prefixed('settings/', inputs.settings),
    };
    const { tasks, rewards, scores, decisions } = outputs;
    const table = await samplesTable(this.#store, {
      epoch,
      outputs: { tasks, rewards, scores, decisions },
    });
    return {
      step: epoch,
      time: timeOf(timed, epoch),
      metrics: Object.fromEntries(
        Object.entries(metrics).filter(
          (entry): entry is [string, number] => entry[1] !== null && Number.isFinite(entry[1]),
        ),
      ),
      tables: table === null ? [] : [table],
      references: this.#references(line, before, sha256),
    };
  }

  /** The ledger's line, and the checkpoints that the epoch before it did not have. */
  #references({ outputs }: Line, before: Line | undefined, sha256: string): TrackedReference[] {
    const uri = (path: string): string => `genenv:${this.#home}/${path}`;
    const references = [{ name: 'ledger', uri: uri(`runs/${this.#folder.id}/ledger.jsonl`), sha256 }];
    for (const [name, role] of [
      ['agent', 'agent'],
      ['simulator', 'environment'],
    ] as const) {
      const checkpoint = outputs.state?.[role].checkpoint;
      if (checkpoint && checkpoint.sha256 !== before?.outputs.state?.[role].checkpoint?.sha256)
        references.push({ name, uri: uri(`store/${checkpoint.uri}`), sha256: checkpoint.sha256 });
    }
    return references;
  }
}

const prefixed = (prefix: string, values: Record<string, number> = {}): Record<string, number> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]));

/** When an epoch was committed; of one without a time, the last known one before it: a repeated read gives the same. */
function timeOf(timed: ReadonlyMap<number, MetricsLine>, epoch: number): number {
  for (let earlier = epoch; earlier >= 0; earlier--) {
    const at = Date.parse(timed.get(earlier)?.at ?? '');
    if (!Number.isNaN(at)) return at / 1000;
  }
  return 0;
}

const isRewinding = (events: readonly RunEvent[]): boolean => lastTurn(events)?.type === 'rewinding';

const outcomeOf = (end: RunEnd | null): Outcome => (end === 'finished' || end === 'failed' ? end : 'stopped');
