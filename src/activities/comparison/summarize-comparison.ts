import { collect } from '../../async/streams.ts';
import { armRuns, experimentOf } from '../../comparison/plan.ts';
import type { ProbedAgent } from '../../comparison/probes.ts';
import { writeComparisonReport } from '../../comparison/report.ts';
import { resultsMarkdown } from '../../comparison/results-markdown.ts';
import { createRunRecord } from '../../comparison/run-metrics.ts';
import type { RunRecord } from '../../comparison/run-metrics.ts';
import { summarize } from '../../comparison/summary.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { ProbeRecord, SummarizeInput } from '../../types/comparison-inputs.ts';
import type { Summarized } from '../../types/comparison-types.ts';
import type { GradientRecord, ProbeOutcomeRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { readComparison } from './plan-comparison.ts';

/**
 * Summarizes the runs from their ledgers, the cross-play and the probes alone, so that the files are the same
 * whenever and wherever it is done.
 * @throws InvalidConfig for a run that lacks epochs, or did not start like the others of its seed
 */
export function createSummarizeComparison(dependencies: Dependencies) {
  return async ({ id, crossPlay, probes }: SummarizeInput): Promise<Summarized> => {
    const comparison = await readComparison(dependencies, id);
    const { heartbeat } = dependencies.activityContext();
    const runs: RunRecord[] = [];
    for (const run of armRuns(id, comparison)) {
      const opened = await openRun(dependencies.runFolder(run.id));
      const lines = (await opened?.ledger.read()) ?? [];
      const experiment = experimentOf(comparison, run);
      if (lines.at(-1)?.epoch !== experiment.epochs)
        throw new InvalidConfig(
          `comparison: ${run.id} ends with epoch ${lines.at(-1)?.epoch ?? 'none'} of ${experiment.epochs}`,
        );
      runs.push(createRunRecord(run, experiment, lines));
      heartbeat({ runs: runs.length });
    }
    const probedAgents = await Promise.all(probes.map((probe) => readProbe(dependencies.store, probe)));
    const summary = summarize(comparison, runs, crossPlay, probedAgents);
    heartbeat({ runs: runs.length, summed: true });
    const folder = dependencies.comparisonFolder(id);
    await folder.writeFile(folder.summaryFile, `${JSON.stringify(summary, null, 1)}\n`);
    await folder.writeFile(folder.resultsFile, resultsMarkdown(summary));
    await writeComparisonReport(summary, folder.reportFile);
    return {
      summary: folder.inHome(folder.summaryFile),
      results: folder.inHome(folder.resultsFile),
      report: folder.inHome(folder.reportFile),
    };
  };
}

/** @throws InvalidArtifact if a file of the probe is damaged or missing */
async function readProbe(store: ObjectStore, probe: ProbeRecord): Promise<ProbedAgent> {
  const { arm, seed, epoch, outcomes, gradients } = probe;
  const tasks = await collect(store.records<ProbeOutcomeRecord>(outcomes));
  return {
    arm,
    seed,
    epoch,
    attempts: tasks.map(({ solved }) => solved.map((success) => success === 1)),
    signal: gradients && (await collect(store.records<GradientRecord>(gradients))).map(gradientSignal),
  };
}

const gradientSignal = (record: GradientRecord): NonNullable<ProbedAgent['signal']>[number] => ({
  p: record.success_rate,
  norm: record.squared_norm,
  score: record.squared_score,
  tokens: record.tokens,
});
