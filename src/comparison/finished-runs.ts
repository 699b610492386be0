import type { Comparison } from '../config/comparison.ts';
import type { Experiment } from '../config/experiment.ts';
import { benchmarkScores } from '../runs/benchmark-scores.ts';
import { evaluationOfEpoch, isEvaluationDue } from '../evaluation/evaluation-id.ts';
import type { Origin } from '../runs/file-schemas.ts';
import { openRun } from '../runs/ledger-entry.ts';
import type { LedgerEntry } from '../runs/ledger-entry.ts';
import type { ComparisonFolder, RunFolders } from '../runs/result-folders.ts';
import { hashOf } from '../store/canonical-json.ts';
import type { LedgerLine } from '../store/ledger-chain.ts';
import type { ArmRun } from '../types/comparison-inputs.ts';
import type { Metrics } from '../types/run-state.ts';
import { armRuns, experimentOf } from './plan.ts';
import { portableRun } from './portable-run.ts';
import type { PortableRun } from './portable-run.ts';
import { inSameRun, parseRunsFile, runsOf } from './runs-file.ts';

type Folders = Pick<RunFolders, 'runFolder' | 'comparisonFolder' | 'evaluationFolder'>;

/** A planned run, and what it came to, here or elsewhere. */
export interface RunState {
  run: ArmRun;
  experiment: Experiment;
  /** Null if it is not finished, or not here: `ends` then says with which epoch its ledger here ends. */
  finished: PortableRun | null;
  /** Whether it was made in another home, and its line stands for it. */
  isCarried: boolean;
  ends: number | null;
  /** Epochs of a run that is finished here whose evaluation on benchmarks has no results, or not yet. */
  unevaluated: number[];
}

/**
 * All runs of a comparison, in their order. A run that is finished in this home folder is read from its ledger;
 * of others the line of `carried.jsonl` stands for it, if there is one.
 * @param onRun called after each
 * @throws InvalidConfig for a carried run of other settings, InvalidArtifact for a damaged ledger
 */
export async function readRunStates(
  folders: Folders,
  id: string,
  comparison: Comparison,
  onRun: (read: number) => void = () => undefined,
): Promise<RunState[]> {
  const folder = folders.comparisonFolder(id);
  const carried = await readCarried(folder, comparison);
  const origin = await folder.origin();
  const states: RunState[] = [];
  for (const run of armRuns(id, comparison)) {
    states.push(await readRunState(folders, run, comparison, { origin, carried }));
    onRun(states.length);
  }
  return states;
}

/**
 * The runs that are to be made in this home folder: all but those that another has finished, and that are not
 * finished here too.
 * @throws InvalidConfig for a carried run of other settings, InvalidArtifact for a damaged ledger of such a run
 */
export async function runsToMake(folders: Folders, id: string, comparison: Comparison): Promise<ArmRun[]> {
  const folder = folders.comparisonFolder(id);
  const carried = await readCarried(folder, comparison);
  const runs: ArmRun[] = [];
  for (const run of armRuns(id, comparison)) {
    // Ledgers of other runs are looked at by the runs themselves: a damaged one stops none but its own.
    const isElsewhere = carried.some((line) => inSameRun(line, run));
    if (!isElsewhere || (await isFinished(folders, run, comparison))) runs.push(run);
  }
  return runs;
}

async function isFinished({ runFolder }: Folders, run: ArmRun, comparison: Comparison): Promise<boolean> {
  const opened = await openRun(runFolder(run.id));
  return (await opened?.ledger.read())?.at(-1)?.epoch === experimentOf(comparison, run).epochs;
}

async function readRunState(
  folders: Folders,
  run: ArmRun,
  comparison: Comparison,
  { origin, carried }: { origin: Origin; carried: readonly PortableRun[] },
): Promise<RunState> {
  const experiment = experimentOf(comparison, run);
  const opened = await openRun(folders.runFolder(run.id));
  const lines = (await opened?.ledger.read()) ?? [];
  const ends = lines.at(-1)?.epoch ?? null;
  if (ends === experiment.epochs) {
    const benchmarks = await readBenchmarks(folders, run.id, experiment, lines);
    const finished = portableRun(run, experiment, lines, { origin, benchmarks });
    const unevaluated = lines.flatMap(({ epoch }, index) =>
      isDue(experiment, epoch) && Object.keys(benchmarks[index]!).length === 0 ? [epoch] : [],
    );
    return { run, experiment, finished, isCarried: false, ends, unevaluated };
  }
  const line = carried.find((candidate) => inSameRun(candidate, run)) ?? null;
  return { run, experiment, finished: line, isCarried: line !== null, ends, unevaluated: [] };
}

/** Scores by epoch; empty without benchmarks. @throws InvalidArtifact for damaged results */
async function readBenchmarks(
  { evaluationFolder }: Folders,
  run: string,
  experiment: Experiment,
  lines: readonly LedgerLine<LedgerEntry>[],
): Promise<Metrics[]> {
  if (experiment.evaluation.benchmarks === undefined) return [];
  return Promise.all(
    lines.map(async (line) =>
      isDue(experiment, line.epoch)
        ? benchmarkScores(evaluationFolder(evaluationOfEpoch(run, line.epoch, hashOf(line))))
        : {},
    ),
  );
}

const isDue = ({ evaluation: { benchmarks }, epochs }: Experiment, epoch: number): boolean =>
  benchmarks !== undefined && isEvaluationDue(epoch, benchmarks, epochs);

/** Runs that were made in another home. @throws InvalidConfig for a damaged line, and a run of other settings */
const readCarried = async (folder: ComparisonFolder, comparison: Comparison): Promise<PortableRun[]> =>
  runsOf(comparison, await readCarriedLines(folder));

/** All lines of `carried.jsonl`, also of arms and seeds that a comparison lacks. @throws InvalidConfig if damaged */
export async function readCarriedLines(folder: ComparisonFolder): Promise<PortableRun[]> {
  const text = await folder.readText(folder.carriedFile);
  return text === undefined ? [] : parseRunsFile(folder.carriedFile, text);
}
