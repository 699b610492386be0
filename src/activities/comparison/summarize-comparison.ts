import { finishInSlices } from '../../async/long-computation.ts';
import { collect } from '../../async/streams.ts';
import { TimeSlices } from '../../async/time-slices.ts';
import { readRunStates } from '../../comparison/finished-runs.ts';
import type { RunState } from '../../comparison/finished-runs.ts';
import { withMeasures } from '../../comparison/measured-policies.ts';
import type { PortableRun } from '../../comparison/portable-run.ts';
import type { ProbedAgent } from '../../comparison/probes.ts';
import { writeComparisonReport } from '../../comparison/report.ts';
import { resultsMarkdown } from '../../comparison/results-markdown.ts';
import { runsFileText } from '../../comparison/runs-file.ts';
import { computeSummary } from '../../comparison/summary.ts';
import type { Comparison } from '../../config/comparison.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { ProbeRecord, SummarizeInput } from '../../types/comparison-inputs.ts';
import type { Summarized } from '../../types/comparison-types.ts';
import type { GradientRecord, ProbeOutcomeRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { readComparison } from './plan-comparison.ts';

/**
 * Summarizes the runs from their ledgers or, where they were made in another home, from their lines, and from the
 * cross-play and the probes: the files are the same whenever and wherever it is done. `runs.jsonl` has all that
 * they are made of.
 * @throws InvalidConfig for a run that lacks epochs, or did not start like the others of its seed, and for probes
 *   that the comparison does not ask for
 */
export function createSummarizeComparison(dependencies: Dependencies) {
  return async ({ id, crossPlay, probes }: SummarizeInput): Promise<Summarized> => {
    const comparison = await readComparison(dependencies, id);
    requireAskedFor(comparison, probes);
    const { heartbeat, signal } = dependencies.activityContext();
    const slices = new TimeSlices((count) => {
      signal.throwIfAborted();
      heartbeat({ slices: count });
    });
    const states = await readRunStates(dependencies, id, comparison, (runs) => heartbeat({ runs }));
    const probed = await Promise.all(probes.map((probe) => readProbe(dependencies.store, probe)));
    const runs = withMeasures(states.map(requireFinished), { crossPlay, probed }, comparison);
    const summary = await finishInSlices(computeSummary(comparison, id, runs), slices);
    heartbeat({ runs: runs.length, summed: true });
    const folder = dependencies.comparisonFolder(id);
    await folder.writeFile(folder.runsFile, runsFileText(runs));
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

/**
 * Each agent once, and no more of a run than are probed: all are read at a time.
 * @throws InvalidConfig for others
 */
function requireAskedFor(comparison: Comparison, probes: readonly ProbeRecord[]): void {
  const most = comparison.probes?.checkpoints ?? 0;
  const counts = new Map<string, Set<number>>();
  for (const { arm, seed, epoch } of probes) {
    const run = `${arm}, seed ${seed}`;
    const epochs = counts.get(run) ?? new Set();
    if (epochs.has(epoch) || epochs.size >= most)
      throw new InvalidConfig(
        `comparison: probes: got epoch ${epoch} of ${run}; expected at most ${most} of a run, each once`,
      );
    counts.set(run, epochs.add(epoch));
  }
}

function requireFinished({ run, experiment, finished, ends }: RunState): PortableRun {
  if (finished !== null) return finished;
  throw new InvalidConfig(`comparison: ${run.id} ends with epoch ${ends ?? 'none'} of ${experiment.epochs}`);
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
