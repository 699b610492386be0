import { stat } from 'node:fs/promises';
import { armName } from '../config/arms.ts';
import { guards } from '../report/guards.ts';
import { loadRun } from '../report/load-run.ts';
import { measured, series, trained } from '../report/run-data.ts';
import { failureOf, heldOutOf, stateOf, viewRun } from '../report/run-view.ts';
import type { ViewedRun } from '../report/run-view.ts';
import { RunFolder } from '../runs/run-folder.ts';
import { runsFolder } from '../runs/run-overview.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { RunLine, RunPage } from './api.ts';
import { familyOf } from './family.ts';
import type { LiveSource } from './live-source.ts';
import { settingsChanges } from './settings-changes.ts';

const COURSE_EPOCHS = 60;
/** Runs that are kept in memory: those that were looked at last. */
const MAX_CACHED = 24;
/** How often the files of a run are looked for in a bucket: each time takes some requests. */
const REFRESH_MS = 10_000;
/** How long what Temporal said is taken as true. */
const LIVE_MS = 1_500;

interface Cached<T> {
  stamp: string;
  value: Promise<T>;
}

/** Reads runs for the pages. A run is read again when one of its files has changed. */
export class RunPages {
  readonly #home: string;
  readonly #loadWorld: LoadWorld;
  readonly #source: LiveSource;
  readonly #runs = new Map<string, Cached<ViewedRun>>();
  readonly #lines = new Map<string, Cached<RunLine>>();
  readonly #refreshed = new Map<string, number>();

  constructor(home: string, loadWorld: LoadWorld, source: LiveSource) {
    this.#home = home;
    this.#loadWorld = loadWorld;
    this.#source = source;
  }

  folder(id: string): RunFolder {
    return new RunFolder(runsFolder(this.#home), id);
  }

  folders(): Promise<RunFolder[]> {
    return RunFolder.list(runsFolder(this.#home));
  }

  /** Changes when a file of the run does. What a bucket has of it is brought to this disk first. */
  async stamp(folder: RunFolder): Promise<string> {
    const now = Date.now();
    if (now - (this.#refreshed.get(folder.id) ?? 0) > REFRESH_MS) {
      this.#refreshed.set(folder.id, now);
      await folder.refresh();
    }
    return fileStamp(folder);
  }

  /** @throws Error if there is no such run */
  async viewed(id: string): Promise<ViewedRun> {
    const stamp = await this.stamp(this.folder(id));
    const cached = this.#runs.get(id);
    this.#runs.delete(id);
    const value =
      cached?.stamp === stamp
        ? cached.value
        : viewRun({ home: this.#home, runId: id, loadWorld: this.#loadWorld });
    value.catch(() => this.#runs.delete(id));
    this.#runs.set(id, { stamp, value });
    for (const [oldest] of this.#runs) {
      if (this.#runs.size <= MAX_CACHED) break;
      this.#runs.delete(oldest);
    }
    return value;
  }

  /** @throws Error if there is no such run */
  async page(id: string): Promise<RunPage> {
    const { view, run } = await this.viewed(id);
    const folder = this.folder(id);
    const [live, family] = await Promise.all([
      this.#source.live(folder, { epoch: view.progress.committed, isFinished: view.state.tone === 'good' }),
      familyOf(folder, await this.folders()),
    ]);
    return { view, live, family, changes: settingsChanges(run) };
  }

  /** A run's line in the overview, new when its files have changed, or after a moment while it runs. */
  async line(folder: RunFolder): Promise<RunLine> {
    const files = await this.stamp(folder);
    const cached = this.#lines.get(folder.id);
    const moment = cached?.stamp.startsWith('finished ') ? '' : ` ${Math.floor(Date.now() / LIVE_MS)}`;
    if (cached && (cached.stamp === `finished ${files}` || cached.stamp === files + moment))
      return cached.value;
    const value = this.#readLine(folder);
    const stamp = files + moment;
    this.#lines.set(folder.id, { stamp, value });
    const line = await value;
    if (line.state === 'finished') this.#lines.set(folder.id, { stamp: `finished ${files}`, value });
    return line;
  }

  async #readLine(folder: RunFolder): Promise<RunLine> {
    try {
      const run = await loadRun({ home: this.#home, runId: folder.id });
      const committed = run.rows.at(-1)?.epoch ?? 0;
      const planned = run.experiment?.epochs ?? null;
      const isFinished = stateOf(run).tone === 'good';
      const { state, progress, phases } = await this.#source.live(folder, { epoch: committed, isFinished });
      const seconds = progress?.epochSeconds ?? null;
      const heldOut = run.rows.map(heldOutOf);
      const failure = failureOf(run);
      const isActive = ['running', 'paused', 'stopping'].includes(state);
      return {
        id: folder.id,
        arm: run.experiment === null ? '' : armName(run.experiment.arm),
        state,
        epoch: committed,
        epochs: planned ?? committed,
        success: series(run.rows, 'env/success_rate').slice(-COURSE_EPOCHS),
        heldOut: measured(heldOut).at(-1) ?? null,
        heldOutCourse: measured(heldOut).slice(-COURSE_EPOCHS),
        updated: run.rows.at(-1)?.at ?? null,
        secondsLeft:
          isActive && seconds !== null && planned !== null ? (planned - committed) * seconds : null,
        phase: isActive ? (progress?.phase ?? '') : '',
        attention: [
          ...(failure === null ? [] : [`it failed: ${failure}`]),
          ...phases
            .filter(({ attempt }) => attempt > 1)
            .map(({ phase, attempt, lastFailure }) => `${phase}, attempt ${attempt}: ${lastFailure}`),
          ...(progress?.waiting ? [`waits for ${progress.waiting.server}`] : []),
          ...guards(trained(run.rows), run.experiment)
            .filter((guard) => guard.state === 'warn')
            .map(({ label }) => `guard: ${label}`),
        ],
      };
    } catch (error) {
      return unreadableLine(folder.id, error instanceof Error ? error.message : String(error));
    }
  }
}

const unreadableLine = (id: string, problem: string): RunLine => ({
  id,
  arm: '',
  state: 'unreadable',
  epoch: 0,
  epochs: 0,
  success: [],
  heldOut: null,
  heldOutCourse: [],
  updated: null,
  secondsLeft: null,
  phase: '',
  attention: [problem],
});

async function fileStamp(folder: RunFolder): Promise<string> {
  const files = [
    folder.experimentFile,
    folder.ledgerFile,
    folder.metricsFile,
    folder.eventsFile,
    folder.retunesFile,
    folder.forkFile,
  ];
  const stats = await Promise.all(files.map((file) => stat(file).catch(() => null)));
  return stats.map((entry) => (entry === null ? '-' : `${entry.size}.${entry.mtimeMs}`)).join(' ');
}
