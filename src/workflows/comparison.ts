import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  patched,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  ArmRun,
  ComparisonPlan,
  ComparisonProgress,
  CrossPlayRecord,
  ProbeRecord,
  Summarized,
} from '../types/comparison-types.ts';
import { comparisonActivities, phaseActivities } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { startChildExperiment } from './child-experiment.ts';
import { mapConcurrently } from './map-concurrent.ts';
import { comparisonProgressQuery } from './messages.ts';

export type ComparisonResult = Summarized & { runs: number };

const { parseComparison, armExperiment, summarizeComparison } = comparisonActivities;

/**
 * Arms side by side: each under each seed as an experiment of its own, then their policies of different
 * epochs against each other, then probes of some agents, then one summary. `file` is the content of a
 * comparison file, the id the workflow id. Runs that are finished end at once when they are started again, so
 * starting the same id again goes on, on an empty Temporal server too. A run that fails stops no other.
 */
export async function comparison(file: unknown): Promise<ComparisonResult> {
  const id = workflowInfo().workflowId;
  const progress: ComparisonProgress = {
    comparison: id,
    status: 'preparing',
    runs: 0,
    done: 0,
    running: [],
    failed: [],
  };
  setHandler(comparisonProgressQuery, () => progress);
  const tell = (changes: Partial<ComparisonProgress>): void =>
    setCurrentDetails(comparisonDetails(Object.assign(progress, changes)));
  try {
    const plan = await parseComparison({ id, file: file ?? null });
    tell({ status: 'running', runs: plan.runs.length });
    await runAll(plan, progress, tell);
    tell({ status: 'cross-play' });
    const met: CrossPlayRecord[] = [];
    for (const run of plan.crossPlay) met.push(await crossPlay(plan, run));
    tell({ status: 'probes' });
    // In turn where the comparison began before probes ran at once.
    const atOnce = patched('probes-at-once') ? plan.concurrency : 1;
    const probes = (await mapConcurrently(plan.probes, atOnce, (run) => probe(plan, run))).flat();
    tell({ status: 'summary' });
    const summarized = await summarizeComparison({ id, crossPlay: met, probes });
    tell({ status: 'finished' });
    return { ...summarized, runs: plan.runs.length };
  } catch (error) {
    tell({ status: CancellationScope.current().consideredCancelled ? 'cancelled' : 'failed' });
    throw error;
  }
}

/** All runs, so many at a time. @throws ComparisonFailed at the end, naming those that did not finish */
async function runAll(
  { id, runs, concurrency }: ComparisonPlan,
  progress: ComparisonProgress,
  tell: (changes: Partial<ComparisonProgress>) => void,
): Promise<void> {
  await mapConcurrently(runs, concurrency, async (run) => {
    tell({ running: [...progress.running, run.id] });
    try {
      await finish(id, run);
      tell({ done: progress.done + 1 });
    } catch (error) {
      if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
      tell({ failed: [...progress.failed, { id: run.id, reason: rootMessage(error) }] });
    } finally {
      tell({ running: progress.running.filter((one) => one !== run.id) });
    }
  });
  if (progress.failed.length === 0) return;
  const reasons = progress.failed.map((one) => `${one.id}: ${one.reason}`);
  throw ApplicationFailure.nonRetryable(
    `${progress.failed.length} of ${runs.length} runs did not finish; once the cause is gone, start the comparison again, and only these are done: ${reasons.join('; ')}`,
    'ComparisonFailed',
  );
}

async function finish(id: string, run: ArmRun): Promise<void> {
  // Read only now: all files of a comparison together would be large.
  const file = await armExperiment({ id, run });
  const child = await startChildExperiment(
    run.id,
    file,
    `${run.arm}, seed ${run.seed}, of ${id}`,
    'RunUnderWay',
  );
  const { outcome, epochs } = await child.result();
  if (outcome !== 'finished')
    throw ApplicationFailure.nonRetryable(
      `ended as "${outcome}" after epoch ${epochs} of ${file.epochs}`,
      'RunEnded',
    );
}

/** The comparison at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function comparisonDetails({
  comparison,
  status,
  runs,
  done,
  running,
  failed,
}: ComparisonProgress): string {
  return [
    `**${comparison}**: ${status}, **${done}** of ${runs} runs done`,
    ...(running.length === 0 ? [] : ['', `Under way: ${running.join(', ')}`]),
    ...(failed.length === 0
      ? []
      : ['', ...failed.map(({ id, reason }) => `- ${id} did not finish: ${reason}`)]),
  ].join('\n');
}

/** The simulators of one run's epochs against its agents of the same epochs. */
export async function crossPlay(
  { id, concurrency }: ComparisonPlan,
  armRun: ArmRun,
): Promise<CrossPlayRecord> {
  const {
    run,
    settings,
    checkpoints,
    tasks: wanted,
    samples,
  } = await comparisonActivities.planCrossPlay({ id, run: armRun });
  const does = phaseActivities(settings);
  const tasks = await mapConcurrently(checkpoints, concurrency, async ({ epoch, state }) => {
    await does.publishPolicy({ run, policy: state.environment });
    return { epoch, file: await does.crossTasks({ run, epoch, state, tasks: wanted }) };
  });
  const played = await mapConcurrently(checkpoints, concurrency, async ({ epoch, state }) => {
    await does.publishPolicy({ run, policy: state.agent });
    return does.crossPlay({ run, epoch, state, samples, tasks });
  });
  return { arm: armRun.arm, seed: armRun.seed, cells: played.flatMap(({ cells }) => cells) };
}

/**
 * One run's agents of some epochs on tasks that span p: how they rank, and how large a gradient each gives.
 */
export async function probe({ id }: Pick<ComparisonPlan, 'id'>, armRun: ArmRun): Promise<ProbeRecord[]> {
  const {
    run,
    settings,
    checkpoints,
    tasks: wanted,
    attempts,
  } = await comparisonActivities.planProbes({ id, run: armRun });
  const does = phaseActivities(settings);
  const probed: ProbeRecord[] = [];
  for (const { epoch, state } of checkpoints) {
    await does.publishPolicy({ run, policy: state.agent });
    const tasks = await does.probeTasks({ run, epoch, state, tasks: wanted });
    const { traces, outcomes } = await does.probeAttempts({ run, epoch, state, tasks, attempts });
    const gradients =
      state.agent.checkpoint === null
        ? null
        : await does.measureGradients({ run, epoch, state, traces, outcomes });
    probed.push({ arm: armRun.arm, seed: armRun.seed, epoch, outcomes, gradients });
  }
  return probed;
}
