import { relative } from 'node:path';
import { armRuns } from '../../comparison/plan.ts';
import { writeComparisonReport } from '../../comparison/report.ts';
import { resultsMarkdown } from '../../comparison/results-markdown.ts';
import { createRunRecord } from '../../comparison/run-metrics.ts';
import type { RunRecord } from '../../comparison/run-metrics.ts';
import { summarize } from '../../comparison/summary.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import type { Summarized, SummarizeInput } from '../../types/comparison-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { experimentOf, readComparison } from './plan-comparison.ts';
import { readProbes } from './probes.ts';

/**
 * Sums the runs up, by their ledgers, the cross-play and the probes alone, so that the same files come of it
 * whenever and wherever it is done.
 * @throws InvalidConfig for a run that has not all of its epochs, or did not start as the others of its seed
 */
export function createSummarizeComparison(dependencies: Dependencies) {
  return async ({ id, crossPlay, probes }: SummarizeInput): Promise<Summarized> => {
    const comparison = await readComparison(dependencies, id);
    const { heartbeat } = dependencies.activityContext();
    const runs: RunRecord[] = [];
    for (const run of armRuns(id, comparison)) {
      const lines = (await (await dependencies.runFolder(run.id).open<LedgerEntry>())?.ledger.read()) ?? [];
      const experiment = experimentOf(comparison, run);
      if (lines.at(-1)?.epoch !== experiment.epochs)
        throw new InvalidConfig(
          `comparison: ${run.id} ends with epoch ${lines.at(-1)?.epoch ?? 'none'} of ${experiment.epochs}`,
        );
      runs.push(createRunRecord(run, experiment, lines));
      heartbeat({ runs: runs.length });
    }
    const summary = summarize(comparison, runs, crossPlay, await readProbes(dependencies, probes));
    heartbeat({ runs: runs.length, summed: true });
    const folder = dependencies.comparisonFolder(id);
    await atomicWrite(folder.summaryFile, `${JSON.stringify(summary, null, 1)}\n`);
    await atomicWrite(folder.resultsFile, resultsMarkdown(summary));
    await writeComparisonReport(summary, folder.reportFile);
    const inHome = (file: string): string => relative(`${folder.path}/../..`, file);
    return {
      summary: inHome(folder.summaryFile),
      results: inHome(folder.resultsFile),
      report: inHome(folder.reportFile),
    };
  };
}
