/**
 * The workflow of one night: its experiment is a child workflow, which gets a signal at the deadline.
 * Activities read and write the curriculum's record, so nights know of each other only through it.
 */
import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { PolicyVersion } from '../types/run-state.ts';
import type { NightPlan, Verdicts } from '../types/nightly-inputs.ts';
import type { NightRecord } from '../types/nightly-types.ts';
import { nightActivities, proxyPhaseActivities } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { startChildExperiment } from './child-experiment.ts';
import { fileRefs, mapShards } from '../epochs/shards.ts';
import type { ExperimentResult } from './experiment-outcome.ts';
import { stopAfterEpochSignal } from './messages.ts';
import { modelOutages } from './model-outages.ts';
import { reportText } from './outage-text.ts';

export type NightResult = NightRecord & { name: string };

/**
 * One night of a curriculum, for Temporal Schedules: an experiment that starts from the champion, then a
 * comparison of the two agents, which decides where the next night starts. `file` is the content of a nightly
 * file. The curriculum's record decides which night it is, so one that was interrupted resumes, on an empty
 * Temporal server too.
 */
export async function nightlyWorkflow(file: unknown): Promise<NightResult> {
  const night = await nightActivities.openNight({ file: file ?? null });
  let phase = 'trains';
  const showPhase = (next: string): void => {
    phase = next;
    const waiting = modelOutages.all().map(reportText);
    setCurrentDetails(nightDetails(night, phase, waiting.length === 0 ? undefined : waiting.join('\n')));
  };
  modelOutages.show({ phase: () => phase, onChange: () => showPhase(phase) });
  showPhase('trains');
  try {
    const { outcome, epochs: epoch } = await runExperiment(night);
    modelOutages.dropChild(night.id);
    showPhase('compares');
    const hasTrained = epoch > (night.from?.epoch ?? 0);
    const verdicts = hasTrained ? await evaluateBothAgents(night, epoch) : null;
    const record = await nightActivities.closeNight({ night, epoch, outcome, verdicts });
    setCurrentDetails(nightDetails(night, record.outcome, record.reason));
    return { name: night.nightly.name, ...record };
  } catch (error) {
    if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
    const reason = rootMessage(error);
    setCurrentDetails(nightDetails(night, 'failed', reason));
    await nightActivities.failNight({ night, reason });
    throw ApplicationFailure.create({
      message: `night ${night.night} of ${night.nightly.name}: ${reason}`,
      type: 'NightFailed',
      nonRetryable: true,
    });
  }
}

/** The night's experiment, to its end, or to the end of the epoch that is running at the deadline. */
async function runExperiment(night: NightPlan): Promise<ExperimentResult> {
  const { id, experiment, nightly, deadlineMs } = night;
  const firstEpoch = (night.from?.epoch ?? 0) + 1;
  const summary = `Night ${night.night} of ${nightly.name}: epochs ${firstEpoch} to ${experiment.epochs}`;
  const child = await startChildExperiment(id, experiment, summary, 'NightUnderWay');
  if (deadlineMs === null) return child.result();
  const deadline = new CancellationScope();
  const stopAtDeadline = deadline.run(async () => {
    await sleep(deadlineMs);
    await child.signal(stopAfterEpochSignal);
  });
  stopAtDeadline.catch(() => undefined);
  try {
    return await child.result();
  } finally {
    deadline.cancel();
  }
}

async function evaluateBothAgents(night: NightPlan, epoch: number): Promise<Verdicts> {
  const { before, after, shards, ...input } = await nightActivities.compareAgents({ night, epoch });
  const activities = proxyPhaseActivities(night.settings);
  const evaluate = async (agent: PolicyVersion): Promise<Verdicts['before']> => {
    await activities.publishPolicy({ run: input.run, policy: agent });
    const verdicts = await mapShards(shards, (shard) =>
      activities.evaluatePolicy({ ...input, ...shard, agent }),
    );
    return fileRefs(verdicts);
  };
  return { before: await evaluate(before), after: await evaluate(after) };
}

/** The night at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
function nightDetails(
  { nightly: { name }, night, id, from, experiment }: NightPlan,
  state: string,
  reason?: string,
): string {
  const start = from === null ? 'fresh' : `epoch ${from.epoch} of ${from.run}`;
  return [
    `**${name}**, night **${night}**: ${state}`,
    '',
    `Experiment ${id}, from ${start} to epoch ${experiment.epochs}.`,
    ...(reason === undefined ? [] : ['', reason]),
  ].join('\n');
}
