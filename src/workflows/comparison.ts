/**
 * The workflow of a comparison: experiments as child workflows, then measurements on their policies, then one
 * summary. What each activity reads, it finds in the files of the comparison and its runs.
 */
import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { ArmRun, CrossPlayRecord, ProbeRecord } from '../types/comparison-inputs.ts';
import type { ComparisonPlan, ComparisonProgress, Summarized } from '../types/comparison-types.ts';
import { comparisonActivities, proxyPhaseActivities, summarizeComparison } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { startChildExperiment } from './child-experiment.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { comparisonProgressQuery } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { reportText } from './outage-text.ts';

export type ComparisonResult = Summarized & { runs: number };

type PublishProgress = (changes: Partial<ComparisonProgress>) => void;

/**
 * Compares arms: each runs under each seed as an experiment of its own; then policies of different epochs
 * play against each other, some agents are probed, and one summary is written. `file` is the content of a
 * comparison file; the comparison's id is the workflow id. Runs that are finished end at once when they are
 * started again, so starting the same id again resumes, on an empty Temporal server too. A run that fails
 * stops no other run.
 */
export async function comparisonWorkflow(file: unknown): Promise<ComparisonResult> {
  const id = workflowInfo().workflowId;
  const progress: ComparisonProgress = {
    comparison: id,
    status: 'preparing',
    runs: 0,
    done: 0,
    running: [],
    failed: [],
    waiting: [],
  };
  setHandler(comparisonProgressQuery, () => progress);
  const publishProgress: PublishProgress = (changes) =>
    setCurrentDetails(comparisonDetails(Object.assign(progress, changes)));
  modelOutages.show({
    phase: () => progress.status,
    onChange: () => publishProgress({ waiting: modelOutages.all() }),
  });
  try {
    const plan = await comparisonActivities.parseComparison({ id, file: file ?? null });
    publishProgress({ status: 'running', runs: plan.runs.length });
    await runAll(plan, progress, publishProgress);

    publishProgress({ status: 'cross-play' });
    const crossPlay: CrossPlayRecord[] = [];
    for (const run of plan.crossPlay) crossPlay.push(await playAcrossEpochs(plan, run));

    publishProgress({ status: 'probes' });
    const probes = await mapConcurrent(plan.probes, plan.concurrency, (run) => probeAgents(plan, run));

    publishProgress({ status: 'summary' });
    const summary = await summarizeComparison({ id, crossPlay, probes: probes.flat() });
    publishProgress({ status: 'finished' });
    return { ...summary, runs: plan.runs.length };
  } catch (error) {
    publishProgress({ status: CancellationScope.current().consideredCancelled ? 'cancelled' : 'failed' });
    throw error;
  }
}

/**
 * All runs, `concurrency` at a time. If it is cancelled, it waits for those under way to save their work: Temporal
 * terminates what still runs when this workflow ends.
 * @throws ComparisonFailed at the end, naming the runs that did not finish
 */
async function runAll(
  { id, runs, concurrency }: ComparisonPlan,
  progress: ComparisonProgress,
  publishProgress: PublishProgress,
): Promise<void> {
  let cancellation: unknown;
  await mapConcurrent(runs, concurrency, async (run) => {
    if (cancellation !== undefined) return;
    publishProgress({ running: [...progress.running, run.id] });
    try {
      await runToEnd(id, run);
      publishProgress({ done: progress.done + 1 });
    } catch (error) {
      if (isCancellation(error) && CancellationScope.current().consideredCancelled) cancellation = error;
      else publishProgress({ failed: [...progress.failed, { id: run.id, reason: rootMessage(error) }] });
    } finally {
      modelOutages.dropChild(run.id);
      publishProgress({ running: progress.running.filter((runId) => runId !== run.id) });
    }
  });
  if (cancellation !== undefined) throw cancellation as Error;
  const { failed } = progress;
  if (failed.length === 0) return;
  const reasons = failed.map(({ id: runId, reason }) => `${runId}: ${reason}`).join('; ');
  throw ApplicationFailure.nonRetryable(
    `${failed.length} of ${runs.length} runs did not finish; once the cause is gone, ` +
      `start the comparison again, and only these are done: ${reasons}`,
    'ComparisonFailed',
  );
}

async function runToEnd(comparisonId: string, run: ArmRun): Promise<void> {
  // Read only now: all experiment files of a comparison together would be large.
  const file = await comparisonActivities.armExperiment({ id: comparisonId, run });
  const summary = `${run.arm}, seed ${run.seed}, of ${comparisonId}`;
  const child = await startChildExperiment(run.id, file, summary, 'RunUnderWay');
  const { outcome, epochs } = await child.result();
  if (outcome !== 'finished')
    throw ApplicationFailure.nonRetryable(
      `ended as "${outcome}" after epoch ${epochs} of ${file.epochs}`,
      'RunEnded',
    );
}

/** The simulators of one run's epochs against its agents of the same epochs. */
async function playAcrossEpochs(
  { id, concurrency }: ComparisonPlan,
  armRun: ArmRun,
): Promise<CrossPlayRecord> {
  const plan = await comparisonActivities.planCrossPlay({ id, run: armRun });
  const { run, settings, checkpoints, samples } = plan;
  const activities = proxyPhaseActivities(settings);
  const tasks = await mapConcurrent(checkpoints, concurrency, async ({ epoch, state }) => {
    await activities.publishPolicy({ run, policy: state.environment });
    const file = await activities.crossTasks({ run, epoch, state, tasks: plan.tasks });
    return { epoch, file };
  });
  const rows = await mapConcurrent(checkpoints, concurrency, async ({ epoch, state }) => {
    await activities.publishPolicy({ run, policy: state.agent });
    return activities.crossPlay({ run, epoch, state, samples, tasks });
  });
  return { arm: armRun.arm, seed: armRun.seed, cells: rows.flatMap(({ cells }) => cells) };
}

/**
 * One run's agents of some epochs on tasks that span success rates: how they rank, and how large a gradient
 * each gives. An agent without weights here has no gradients.
 */
async function probeAgents({ id }: ComparisonPlan, armRun: ArmRun): Promise<ProbeRecord[]> {
  const plan = await comparisonActivities.planProbes({ id, run: armRun });
  const { run, settings, checkpoints, attempts } = plan;
  const activities = proxyPhaseActivities(settings);
  const records: ProbeRecord[] = [];
  for (const { epoch, state } of checkpoints) {
    const input = { run, epoch, state };
    await activities.publishPolicy({ run, policy: state.agent });
    const tasks = await activities.probeTasks({ ...input, tasks: plan.tasks });
    const { traces, outcomes } = await activities.probeAttempts({ ...input, tasks, attempts });
    const gradients =
      state.agent.checkpoint === null
        ? null
        : await activities.measureGradients({ ...input, traces, outcomes });
    records.push({ arm: armRun.arm, seed: armRun.seed, epoch, outcomes, gradients });
  }
  return records;
}

/** The comparison at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
function comparisonDetails(progress: ComparisonProgress): string {
  const { comparison, status, runs, done, running, failed, waiting } = progress;
  return [
    `**${comparison}**: ${status}, **${done}** of ${runs} runs done`,
    ...(running.length === 0 ? [] : ['', `Under way: ${running.join(', ')}`]),
    ...(waiting.length === 0 ? [] : ['', ...waiting.map((report) => `- **${reportText(report)}**`)]),
    ...(failed.length === 0
      ? []
      : ['', ...failed.map(({ id, reason }) => `- ${id} did not finish: ${reason}`)]),
  ].join('\n');
}
