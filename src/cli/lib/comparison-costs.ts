import { join } from 'node:path';
import { curveOverTime } from '../../comparison/axes.ts';
import type { AxisPoint } from '../../comparison/axes.ts';
import { armCostsMarkdown } from '../../comparison/costs.ts';
import type { ArmUsage } from '../../comparison/costs.ts';
import { armRuns } from '../../comparison/plan.ts';
import type { Prices } from '../../config/prices.ts';
import { epochUsages } from '../../report/costs.ts';
import { loadRun } from '../../report/load-run.ts';
import type { Usage } from '../../runs/costs.ts';
import { ComparisonFolder } from '../../runs/result-folders.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { loadWorldAsWorker } from './load-world.ts';

/**
 * Writes what the arms of a comparison have used so far, and gives the file's path; undefined if this home
 * folder has no such comparison.
 * @throws InvalidArtifact for a damaged comparison file, StoreUnavailable
 */
export async function writeArmCosts(
  id: string,
  context: CliContext,
  prices?: Prices,
): Promise<string | undefined> {
  const home = homeFolder(context.env);
  const folder = new ComparisonFolder(join(home, 'comparisons'), id);
  const started = await folder.read();
  if (started === undefined) return undefined;
  const { name, arms } = started.comparison;
  const runs = armRuns(id, started.comparison);
  const usages: ArmUsage[] = [];
  for (const arm of Object.keys(arms)) {
    const parts: RunUsage[] = [];
    for (const run of runs) if (run.arm === arm) parts.push(await usageOf(home, run.id, context));
    const readable = parts.map(({ epochs }) => epochs).filter((epochs) => epochs !== null);
    usages.push({
      arm,
      runs: parts.length,
      epochs: readable.length === parts.length ? readable.flat() : null,
      curves: parts.map(({ curve }) => curve).filter(({ length }) => length > 0),
    });
  }
  await folder.writeFile(folder.costsFile, armCostsMarkdown(name, usages, prices));
  return folder.costsFile;
}

interface RunUsage {
  /** Epoch by epoch; null if the run is not in this home folder, or its settings are unreadable. */
  epochs: Usage[] | null;
  curve: AxisPoint[];
}

async function usageOf(home: string, runId: string, context: CliContext): Promise<RunUsage> {
  if ((await new RunFolder(join(home, 'runs'), runId).readExperiment()) === undefined)
    return { epochs: null, curve: [] };
  const run = await loadRun({ home, runId });
  const curve = curveOverTime(run.rows);
  if (run.experiment === null) return { epochs: null, curve };
  return { epochs: epochUsages(run, await loadWorldAsWorker(context)(run.experiment.world)), curve };
}
