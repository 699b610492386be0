import { dirname, join } from 'node:path';
import type { Experiment } from '../config/experiment.ts';
import { parseExperiment } from '../config/parse-experiment.ts';
import { hashOf } from '../store/canonical-json.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { shownLineSchema } from './file-schemas.ts';
import type { ShownLine } from './file-schemas.ts';
import { isComplete } from './run-end.ts';
import { RunFolder } from './run-folder.ts';
import { experimentInEffect } from './settings-in-effect.ts';

export const runsFolder = (home: string): string => join(home, 'runs');

/** The folder of a run that exists. @throws InvalidConfig naming the runs there are */
export async function requireRun(home: string, id: string): Promise<RunFolder> {
  const runs = await RunFolder.list(runsFolder(home));
  const run = runs.find((folder) => folder.id === id);
  if (run !== undefined) return run;
  const existing =
    runs.length === 0 ? 'there are none yet' : `there are: ${runs.map((folder) => folder.id).join(', ')}`;
  throw new InvalidConfig(
    `run: got ${JSON.stringify(id)}, but ${runsFolder(home)} has no such run; ${existing}`,
  );
}

/** The progress of a run, from its files alone. */
export interface RunOverview {
  id: string;
  /** With its retunes. */
  experiment: Experiment;
  /** Of the run's file. */
  sha256: string;
  /** Last committed epoch; null before the first. */
  epoch: number | null;
  finished: boolean;
}

/** Reads a run's experiment file and ledger; null if there is no such run. @throws InvalidArtifact */
export async function readRunOverview(folder: RunFolder): Promise<RunOverview | null> {
  const run = await folder.open<ShownLine>(shownLineSchema);
  if (run === undefined) return null;
  const last = (await run.ledger.head())?.line ?? run.fork?.line;
  const epoch = last?.epoch ?? null;
  const experiment = await experimentInEffect(folder, parseExperiment(run.experiment), (epoch ?? -1) + 1);
  return {
    id: folder.id,
    experiment,
    sha256: run.sha256,
    epoch,
    finished: epoch !== null && isComplete(experiment, epoch, last?.outputs.state?.tokens ?? 0),
  };
}

/** When a run was last rewound; null if never. */
export async function lastRewindTime(folder: RunFolder): Promise<Date | null> {
  const time = (await folder.events()).findLast(({ type }) => type === 'rewound')?.time;
  return time === undefined ? null : new Date(time);
}

/** The anchor of this experiment's ledger. */
export const experimentHash = (experiment: Experiment): string => hashOf(experiment);

/** A run and an epoch of it that another was forked from. */
export interface Ancestor {
  run: string;
  epoch: number;
}

/**
 * The runs that a run was forked from, its parent first; as far as the folders of its ancestors exist.
 * @throws InvalidArtifact
 */
export async function lineage(folder: RunFolder): Promise<Ancestor[]> {
  const ancestors: Ancestor[] = [];
  const seen = new Set<string>();
  for (let run = folder; !seen.has(run.id);) {
    seen.add(run.id);
    const fork = await run.readFork();
    if (fork === undefined) break;
    ancestors.push({ run: fork.run, epoch: fork.epoch });
    run = new RunFolder(dirname(run.path), fork.run);
  }
  return ancestors;
}

export const lineageText = (ancestors: readonly Ancestor[]): string =>
  ancestors.map(({ run, epoch }) => `forked from ${run} at epoch ${epoch}`).join(', which was ');

/** `difficulty.alpha = 0.4, epochs = 120` */
export const settingsText = (set: Record<string, unknown>): string =>
  Object.entries(set)
    .map(([field, value]) => `${field} = ${JSON.stringify(value)}`)
    .join(', ');
