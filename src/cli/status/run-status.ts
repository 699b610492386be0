import type { Client } from '@temporalio/client';
import { armName } from '../../config/arms.ts';
import type { Retune, RunFolder } from '../../runs/run-folder.ts';
import { lineage, readRunOverview } from '../../runs/run-state.ts';
import type { Ancestor } from '../../runs/run-state.ts';
import type { Metrics, Progress } from '../../types/activity-types.ts';
import { currentState } from './run-state.ts';
import type { Current, State } from './run-state.ts';

const RECENT = 5;

const goesOn: ReadonlySet<State> = new Set([
  'paused',
  'stopped',
  'cancelled',
  'terminated',
  'failed',
  'interrupted',
]);

/** What `genenv status` knows of a run. */
export interface RunStatus {
  id: string;
  state: State;
  arm: string;
  epoch: number;
  epochs: number;
  successRate: number | null;
  /** Mean of the last epochs. */
  recentSuccessRate: number | null;
  heldOut: number | null;
  difficulty: number | null;
  /** When the last epoch was committed. */
  updated: string | null;
  /** Only while it runs and its worker answers. */
  progress: Progress | null;
  problem: string | null;
  /** What it was forked from, its parent first. */
  forkedFrom: Ancestor[];
  retunes: Retune[];
  /** Command that goes on with it; null while it runs, and when it is finished. */
  goOn: string | null;
  folder: string;
}

/** The status of a run, by its files and by Temporal where that is reached. */
export async function runStatus(folder: RunFolder, client: Client | null): Promise<RunStatus> {
  const unreadable: RunStatus = {
    id: folder.id,
    state: 'unreadable',
    arm: '',
    epoch: 0,
    epochs: 0,
    successRate: null,
    recentSuccessRate: null,
    heldOut: null,
    difficulty: null,
    updated: null,
    progress: null,
    problem: null,
    forkedFrom: [],
    retunes: [],
    goOn: null,
    folder: folder.path,
  };
  try {
    const run = await readRunOverview(folder);
    if (run === null) return { ...unreadable, problem: 'no experiment.json' };
    const lines = (await folder.metrics()) as { epoch: number; at?: string; metrics?: Metrics }[];
    const values = (name: string): number[] =>
      lines.map(({ metrics }) => metrics?.[name]).filter((value) => typeof value === 'number');
    const rates = values('env/success_rate');
    const last = rates.slice(-RECENT);
    const current: Current = run.finished
      ? { state: 'finished', progress: null }
      : await currentState(folder, client);
    return {
      ...unreadable,
      ...current,
      forkedFrom: await lineage(folder),
      retunes: await folder.readRetunes(),
      goOn: goesOn.has(current.state) ? `npx genenv resume ${folder.id}` : null,
      arm: armName(run.experiment.arm),
      epoch: run.epoch ?? 0,
      epochs: run.experiment.epochs,
      successRate: rates.at(-1) ?? null,
      recentSuccessRate: last.length === 0 ? null : last.reduce((sum, value) => sum + value, 0) / last.length,
      heldOut: values('eval/heldout').at(-1) ?? null,
      difficulty: values('env/difficulty').at(-1) ?? null,
      updated: lines.at(-1)?.at ?? null,
    };
  } catch (error) {
    return { ...unreadable, problem: error instanceof Error ? error.message : String(error) };
  }
}
