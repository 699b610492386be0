import { join } from 'node:path';
import type { Prices } from '../config/prices.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { ObjectStore } from '../store/object-store.ts';
import { worldLoader } from '../worlds/registry.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { World } from '../worlds/world.ts';
import { cards } from './cards.ts';
import { chartsOf } from './charts/charts.ts';
import { costTable, epochUsages } from './costs.ts';
import { assets } from './document.ts';
import { findings, thinned, verdict } from './findings.ts';
import { guards } from './guards.ts';
import { heldOutGrids } from './held-out.ts';
import { loadRun } from './load-run.ts';
import { page } from './page.ts';
import type { PageContent } from './page.ts';
import { trained } from './run-data.ts';
import type { RunData } from './run-data.ts';
import { sampleEpochs } from './samples.ts';

/**
 * Writes the report of a run, finished or not, into its folder, and gives its path. The page says what is
 * missing or pruned; that is never a reason to fail.
 * @param loadWorld loads worlds as the workers do; without it, only those of this project
 * @param prices of what the epochs have used; without them only the usage is shown
 * @throws Error if there is no such run, StoreUnavailable if the folder cannot be written
 */
export async function writeReport({
  home,
  runId,
  loadWorld = worldLoader(undefined),
  prices,
}: {
  home: string;
  runId: string;
  loadWorld?: LoadWorld;
  prices?: Prices | undefined;
}): Promise<string> {
  const run = await loadRun({ home, runId });
  const store = new ObjectStore(join(home, 'store'));
  const world = await worldOf(run, loadWorld);
  const samples = await sampleEpochs(run.rows, store, world, run.gaps);
  const grids = await heldOutGrids(run.rows, store, run.gaps);
  const { rows, epochsPerPoint } = thinned(run.rows);
  const difficultyUnit = world?.difficultyUnit;
  const results = findings(run.rows, { hasDifficulty: difficultyUnit !== undefined });
  const charts = chartsOf(rows, grids, run.experiment, run.retunes);
  if (difficultyUnit === undefined) charts.frontier = charts.frontier.filter(({ id }) => id !== 'difficulty');
  const file = join(home, 'runs', runId, 'report.html');
  await atomicWrite(
    file,
    page({
      run,
      worldName: world?.name ?? null,
      samples,
      epochsPerPoint,
      state: stateOf(run),
      verdict: verdict(results),
      cards: cards(run, results, difficultyUnit),
      guards: guards(trained(run.rows), run.experiment),
      charts,
      costs: costTable(epochUsages(run, world), prices),
      writtenAt: new Date().toISOString().slice(0, 16).replace('T', ' ') + ' UTC',
      assets: await assets('charts.js', 'browser.js'),
    }),
  );
  return file;
}

async function worldOf({ experiment, gaps }: RunData, loadWorld: LoadWorld): Promise<World | null> {
  if (experiment === null) return null;
  try {
    return await loadWorld(experiment.world);
  } catch (error) {
    gaps.push(`Tasks are shown as they are written: ${(error as Error).message}`);
    return null;
  }
}

function stateOf({ events, rows, experiment }: RunData): PageContent['state'] {
  const last = rows.at(-1)?.epoch ?? 0;
  const turn = events.findLast(({ type }) => ['started', 'resumed', 'rewound', 'ended'].includes(type));
  if (turn?.outcome === 'finished' || (experiment !== null && last >= experiment.epochs))
    return { text: 'finished', tone: 'good' };
  if (turn?.outcome !== undefined)
    return {
      text: `${turn.outcome} after epoch ${turn.epoch ?? last}`,
      tone: turn.outcome === 'failed' ? 'warn' : 'plain',
    };
  return {
    text: experiment === null ? `${last} epochs` : `in progress: ${last} of ${experiment.epochs} epochs`,
    tone: 'plain',
  };
}
