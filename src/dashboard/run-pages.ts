import { armName } from '../config/arms.ts';
import { roundTo } from '../numerics/arithmetic.ts';
import { guards } from '../report/guards.ts';
import { isRetry } from '../report/history-view.ts';
import { loadRun } from '../report/load-run.ts';
import { heldOutOf, measuredValues, series, trainingRows } from '../report/run-data.ts';
import type { RunData } from '../report/run-data.ts';
import { endOf, failureOf, viewRun } from '../report/run-view.ts';
import type { ViewedRun } from '../report/run-view.ts';
import { RunFolder } from '../runs/run-folder.ts';
import { runsFolder } from '../runs/run-overview.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { LiveView, RunLine, RunPage } from './api.ts';
import { afterAncestors, comparedRun } from './compared-run.ts';
import type { ComparedRun } from './compared-run.ts';
import { familyOf } from './family.ts';
import { FolderStamps, listStamp, LIVE_MS, momentStamp } from './file-stamp.ts';
import { MAX_COMPARED } from './limits.ts';
import type { LiveSource } from './live-source.ts';
import { settingsChanges } from './settings-changes.ts';
import { StampedCache } from './stamped-cache.ts';

const COURSE_EPOCHS = 60;
/** Runs that are kept in memory, whole and as lines. */
const MAX_RUNS = 24;
const MAX_LINES = 10_000;

/** A run's line without what others say of it. */
type OwnLine = Omit<RunLine, 'comparison'>;

/** What the files of a run say of its line. */
interface FileLine {
  fields: Omit<RunLine, 'comparison' | 'state' | 'isActive' | 'mayChange' | 'secondsLeft' | 'phase'>;
  /** Epochs; null if the settings cannot be read. */
  planned: number | null;
}

/** Reads runs for the pages. A run is read again when one of its files has changed. */
export class RunPages {
  readonly #home: string;
  readonly #loadWorld: LoadWorld;
  readonly #source: LiveSource;
  readonly #runs = new StampedCache<ViewedRun>(MAX_RUNS);
  readonly #lines = new StampedCache<FileLine>(MAX_LINES);
  readonly #compared = new StampedCache<ComparedRun>(MAX_COMPARED);
  readonly #lives = new StampedCache<LiveView>(MAX_LINES);
  readonly #folders = new StampedCache<RunFolder[]>(1);
  readonly #stamps = new FolderStamps();

  constructor(home: string, loadWorld: LoadWorld, source: LiveSource) {
    this.#home = home;
    this.#loadWorld = loadWorld;
    this.#source = source;
  }

  /** The folder of a run; undefined if there is none. */
  async folder(id: string): Promise<RunFolder | undefined> {
    const named = (folder: RunFolder): boolean => folder.id === id;
    // One that was made a moment ago is not in the list yet.
    return (await this.folders()).find(named) ?? (await RunFolder.list(runsFolder(this.#home))).find(named);
  }

  folders(): Promise<RunFolder[]> {
    const root = runsFolder(this.#home);
    return this.#folders.get('', listStamp(root), () => RunFolder.list(root));
  }

  /** Changes when a file of the run does. What a bucket has of it is brought to this disk first. */
  stamp(folder: RunFolder): Promise<string> {
    const { path, experimentFile, ledgerFile, metricsFile, eventsFile, retunesFile, forkFile } = folder;
    const files = [experimentFile, ledgerFile, metricsFile, eventsFile, retunesFile, forkFile];
    return this.#stamps.get(path, files, () => folder.refresh());
  }

  /** A run with what its pages are made of. @throws Error if there is no such run */
  async load(folder: RunFolder): Promise<ViewedRun> {
    const { id } = folder;
    return this.#runs.get(id, await this.stamp(folder), () =>
      viewRun({ home: this.#home, runId: id, loadWorld: this.#loadWorld }),
    );
  }

  /** What is compared of a run, after its ancestors if it is a fork. @throws Error if there is no such run */
  async compared(folder: RunFolder): Promise<ComparedRun> {
    const run = await this.#withoutAncestors(folder);
    const ancestors: (ComparedRun | undefined)[] = [];
    for (const { run: id } of run.forkedFrom) {
      const ancestor = await this.folder(id);
      // One that cannot be read counts as one that is gone.
      ancestors.push(ancestor && (await this.#withoutAncestors(ancestor).catch(() => undefined)));
    }
    return afterAncestors(run, ancestors);
  }

  async #withoutAncestors(folder: RunFolder): Promise<ComparedRun> {
    return this.#compared.get(folder.id, await this.stamp(folder), async () =>
      comparedRun(await loadRun({ home: this.#home, runId: folder.id })),
    );
  }

  async page(folder: RunFolder): Promise<RunPage> {
    const [{ view, run }, live, folders] = await Promise.all([
      this.load(folder),
      this.live(folder),
      this.folders(),
    ]);
    return { view, live, family: await familyOf(folder, folders), changes: settingsChanges(run) };
  }

  /** What Temporal knows of a run. Of its files, only how far it is counts. */
  async live(folder: RunFolder): Promise<LiveView> {
    return this.#liveOf(folder, await this.#fileLine(folder));
  }

  /** A run's line in the overview; one that cannot be read says why. */
  async line(folder: RunFolder): Promise<OwnLine> {
    try {
      const line = await this.#fileLine(folder);
      return lineOf(line, await this.#liveOf(folder, line));
    } catch (error) {
      return unreadableLine(folder.id, error instanceof Error ? error.message : String(error));
    }
  }

  #liveOf(folder: RunFolder, { fields: { epoch, isFinished } }: FileLine): Promise<LiveView> {
    const stamp = `${isFinished ? 'finished' : epoch} ${momentStamp(LIVE_MS)}`;
    return this.#lives.get(folder.id, stamp, () => this.#source.live(folder, { epoch, isFinished }));
  }

  async #fileLine(folder: RunFolder): Promise<FileLine> {
    return this.#lines.get(folder.id, await this.stamp(folder), async () =>
      fileLine(await loadRun({ home: this.#home, runId: folder.id })),
    );
  }
}

function fileLine(run: RunData): FileLine {
  const committed = run.rows.at(-1)?.epoch ?? 0;
  const planned = run.experiment?.epochs ?? null;
  const heldOut = measuredValues(run.rows.map(heldOutOf));
  const failure = failureOf(run);
  return {
    fields: {
      id: run.runId,
      arm: run.experiment === null ? '' : armName(run.experiment.arm),
      isFinished: endOf(run) === 'finished',
      epoch: committed,
      epochs: planned ?? committed,
      success: series(run.rows, 'env/success_rate').slice(-COURSE_EPOCHS).map(shortRate),
      heldOut: heldOut.at(-1) ?? null,
      heldOutCourse: heldOut.slice(-COURSE_EPOCHS).map(shortRate),
      updated: run.rows.at(-1)?.at ?? null,
      attention: [
        ...(failure === null ? [] : [`it failed: ${failure}`]),
        ...guards(trainingRows(run.rows), run.experiment)
          .filter((guard) => guard.state === 'warn')
          .map(({ label }) => `guard: ${label}`),
      ],
      retries: run.events.filter(isRetry).length,
    },
    planned,
  };
}

/** As precise as a curve of the size of a word: hundreds of lines go to the page at once. */
const shortRate = (value: number | null): number | null => (value === null ? null : roundTo(value, 3));

/**
 * States of runs that Temporal knows more of than their files: those of which it has not answered, and those that a
 * server which is started later continues.
 */
const openStates: ReadonlySet<string> = new Set([
  'running',
  'paused',
  'stopping',
  'interrupted',
  'unreadable',
]);

function lineOf({ fields, planned }: FileLine, live: LiveView): OwnLine {
  const { state, isActive, progress, phases, problem } = live;
  const seconds = progress?.epochSeconds ?? null;
  return {
    ...fields,
    state,
    isActive,
    mayChange: openStates.has(state),
    secondsLeft: isActive && seconds !== null && planned !== null ? (planned - fields.epoch) * seconds : null,
    phase: isActive ? (progress?.phase ?? '') : '',
    attention: [
      ...phases
        .filter(({ attempt }) => attempt > 1)
        .map(({ phase, attempt, lastFailure }) => `${phase}, attempt ${attempt}: ${lastFailure}`),
      ...(progress?.waiting ? [`waits for ${progress.waiting.server}`] : []),
      ...(state === 'unreadable' && problem !== undefined ? [problem] : []),
      ...fields.attention,
    ],
  };
}

const unreadableLine = (id: string, problem: string): OwnLine => ({
  id,
  arm: '',
  state: 'unreadable',
  isActive: false,
  isFinished: false,
  mayChange: false,
  epoch: 0,
  epochs: 0,
  success: [],
  heldOut: null,
  heldOutCourse: [],
  updated: null,
  secondsLeft: null,
  phase: '',
  attention: [problem],
  retries: 0,
});
