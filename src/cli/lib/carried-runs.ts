import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readCarriedLines, readRunStates } from '../../comparison/finished-runs.ts';
import type { RunState } from '../../comparison/finished-runs.ts';
import { inSameRun, parseRunsFile, runsFileText, runsOf } from '../../comparison/runs-file.ts';
import type { PortableRun } from '../../comparison/portable-run.ts';
import type { Comparison } from '../../config/comparison.ts';
import { ComparisonFolder, EvaluationFolder } from '../../runs/result-folders.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import { hashOf } from '../../store/canonical-json.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, ExitCode } from '../context.ts';

const foldersOf = (context: CliContext) => {
  const home = homeFolder(context.env);
  return {
    runFolder: (id: string) => new RunFolder(join(home, 'runs'), id),
    comparisonFolder: (id: string) => new ComparisonFolder(join(home, 'comparisons'), id),
    evaluationFolder: (id: string) => new EvaluationFolder(join(home, 'evaluations'), id),
  };
};

/**
 * Puts runs that another home has finished beside the comparison, so that it does not make them again. Those that
 * are there already stay, also those of arms and seeds that this file lacks: it may be refused yet. Runs of a seed
 * whose other runs start from other policies are left out: under a seed all arms start from the same ones.
 * @throws InvalidConfig for a file or a run that is not as it has to be, and for a run that is finished here with
 * another ledger
 */
export async function carryRuns(
  id: string,
  comparison: Comparison,
  files: readonly string[],
  context: CliContext,
): Promise<void> {
  const folders = foldersOf(context);
  const folder = folders.comparisonFolder(id);
  const present = await readCarriedLines(folder);
  if (files.length === 0 && present.length === 0) return;
  const read = (await Promise.all(files.map(readRunsFile))).flat();
  const carried = runsOf(comparison, [...present, ...read]);
  const states = await readRunStates(folders, id, comparison);
  for (const { run, finished, isCarried } of states) {
    const line = carried.find((candidate) => inSameRun(candidate, run));
    if (finished === null || isCarried || line === undefined || line.ledger === finished.ledger) continue;
    throw new InvalidConfig(
      `runs file: ${run.arm}, seed ${run.seed}: its ledger ends with ${line.ledger.slice(0, 12)}, and that of ` +
        `${run.id} in this home with ${finished.ledger.slice(0, 12)}; take the line out, or the run's folder away`,
    );
  }
  const unknown = read.filter((line) => !carried.some((kept) => inSameRun(kept, line))).length;
  const { machine } = await folder.origin();
  const foreign = comparison.seeds
    .map((seed) => ofSeed(seed, carried, states))
    .filter((runs) => !canBeCompleted(runs, machine));
  for (const { seed, lines } of foreign) {
    const machines = [...new Set(lines.map(({ origin }) => origin.machine))].join('; ');
    context.print(
      `Seed ${seed}: ${lines.length} of its runs were made elsewhere (${machines}), and start from other policies ` +
        `than the rest of its runs would (${machine}). They are left out, and all of its runs are made here.`,
    );
  }
  const kept = carried.filter((line) => !foreign.some(({ seed }) => seed === line.seed));
  const outside = present.filter((line) => !states.some(({ run }) => inSameRun(line, run)));
  await folder.writeFile(folder.carriedFile, runsFileText([...kept, ...outside]));
  context.print(
    `Carried: ${kept.length} of ${states.length} runs` +
      (unknown === 0
        ? '.'
        : `; ${unknown} of arms or seeds that the comparison does not have were left out.`),
  );
}

interface SeedRuns {
  seed: number;
  /** Carried. */
  lines: PortableRun[];
  /** Runs that the comparison has, finished or not. */
  states: RunState[];
}

const ofSeed = (seed: number, carried: readonly PortableRun[], states: readonly RunState[]): SeedRuns => ({
  seed,
  lines: carried.filter((line) => line.seed === seed),
  states: states.filter(({ run }) => run.seed === seed),
});

/**
 * Whether all runs of a seed start from the same policies: the carried ones do, and those that are left to this
 * machine do as well, by a run that is finished here, else by the kind of machine. A seed that was made whole
 * elsewhere needs no run here.
 */
function canBeCompleted({ lines, states }: SeedRuns, machine: string): boolean {
  const own = states.find(({ finished, isCarried }) => finished !== null && !isCarried)?.finished;
  const starts = new Set([...lines, ...(own ? [own] : [])].map(({ warm }) => hashOf(warm)));
  if (starts.size > 1) return false;
  const isWhole = lines.length === states.length;
  return isWhole || own !== undefined || lines.every(({ origin }) => origin.machine === machine);
}

async function readRunsFile(file: string) {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliError(
      `--runs: got ${JSON.stringify(file)}, which cannot be read (${(error as Error).message}); expected a file ` +
        'that --docs or --save-runs wrote',
      exitCodes.badInput,
    );
  });
  return parseRunsFile(file, text);
}

/**
 * Writes what is finished, here or carried, for another home to continue from. Nothing is measured or started. A run
 * whose agent is being evaluated is left out: no other home could complete it.
 */
export async function saveRuns(
  id: string,
  comparison: Comparison,
  file: string,
  context: CliContext,
): Promise<ExitCode> {
  const folders = foldersOf(context);
  const states = await readRunStates(folders, id, comparison);
  const finished: PortableRun[] = [];
  for (const { run, finished: line, unevaluated } of states) {
    if (line === null) continue;
    if (unevaluated.length === 0 || (await hasEnded(folders.runFolder(run.id)))) finished.push(line);
    else
      context.print(
        `${run.id} is left out: its agent of epoch ${unevaluated.join(', ')} is being evaluated.`,
      );
  }
  const runs = runsOf(comparison, [
    ...(await measuredLines(folders.comparisonFolder(id), finished)),
    ...finished,
  ]);
  await atomicWrite(file, runsFileText(runs));
  context.print(
    `${file}: ${runs.length} of ${states.length} runs. Continue elsewhere with genenv compare FILE --runs ${file}`,
  );
  return exitCodes.ok;
}

const hasEnded = async (folder: RunFolder): Promise<boolean> =>
  (await folder.events()).some(({ type, outcome }) => type === 'ended' && outcome === 'finished');

/** Lines of the last results, for what was measured on policies of the same runs. */
async function measuredLines(
  folder: ComparisonFolder,
  finished: readonly PortableRun[],
): Promise<PortableRun[]> {
  const text = await folder.readText(folder.runsFile);
  const lines = text === undefined ? [] : parseRunsFile(folder.runsFile, text);
  return lines.filter(({ experiment, ledger }) =>
    finished.some((run) => run.experiment === experiment && run.ledger === ledger),
  );
}
