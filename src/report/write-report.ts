import { join } from 'node:path';
import type { Prices } from '../config/prices.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { worldLoader } from '../worlds/registry.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import { assets, htmlPage } from './document.ts';
import { markup } from './markup.ts';
import { viewRun } from './run-view.ts';
import type { RunView } from './run-view.ts';
import { sampleEpochs } from './samples.ts';
import type { SampledEpoch } from './samples.ts';

/** What the page's element of data holds. */
export interface ReportData {
  view: RunView;
  samples: SampledEpoch[];
  /** `2026-11-21 09:00 UTC` */
  writtenAt: string;
}

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
  const { view, run, store, world } = await viewRun({ home, runId, loadWorld, prices });
  const samples = await sampleEpochs(run.rows, store, world, run.gaps);
  const writtenAt = new Date().toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
  const report: ReportData = { view, samples, writtenAt };
  const file = join(home, 'runs', runId, 'report.html');
  await atomicWrite(
    file,
    htmlPage({
      title: `${runId} · GenEnv report`,
      body: markup`<div id="page"></div>`,
      withoutScripts: 'This page needs JavaScript; everything that it shows is inside it.',
      data: { report },
      assets: await assets('report.tsx'),
    }),
  );
  return file;
}
