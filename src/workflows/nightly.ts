import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  setCurrentDetails,
  sleep,
} from '@temporalio/workflow';
import type { ChildWorkflowHandle } from '@temporalio/workflow';
import type { PolicyVersion } from '../types/activity-types.ts';
import type { NightPlan, NightRecord, Verdicts } from '../types/nightly-types.ts';
import { nightActivities, phaseActivities } from './activity-proxies.ts';
import { rootMessage } from './child-epoch.ts';
import { startChildExperiment } from './child-experiment.ts';
import type { experiment, ExperimentResult } from './experiment.ts';
import { stopAfterEpochSignal } from './messages.ts';

export type NightResult = NightRecord & { name: string };

const { openNight, compareAgents, closeNight, failNight } = nightActivities;

/**
 * One night of a curriculum, for Temporal Schedules: an experiment that goes on from the standing agent, then
 * a comparison of the two agents, which decides where the next night starts. `file` is the content of a
 * nightly file. The curriculum's record decides which night it is, so one that was interrupted, or comes on
 * an empty Temporal server, goes on where it was.
 */
export async function nightly(file: unknown): Promise<NightResult> {
  const night = await openNight({ file: file ?? null });
  setCurrentDetails(nightDetails(night, 'trains'));
  try {
    const { outcome, epochs: epoch } = await train(night);
    setCurrentDetails(nightDetails(night, 'compares'));
    const verdicts = epoch > (night.from?.epoch ?? 0) ? await compare(night, epoch) : null;
    const record = await closeNight({ night, epoch, outcome, verdicts });
    setCurrentDetails(nightDetails(night, record.outcome, record.reason));
    return { name: night.nightly.name, ...record };
  } catch (error) {
    if (isCancellation(error) && CancellationScope.current().consideredCancelled) throw error;
    const reason = rootMessage(error);
    setCurrentDetails(nightDetails(night, 'failed', reason));
    await failNight({ night, reason });
    throw ApplicationFailure.create({
      message: `night ${night.night} of ${night.nightly.name}: ${reason}`,
      type: 'NightFailed',
      nonRetryable: true,
    });
  }
}

/** The night's experiment, to its end, or to the end of the epoch that is under way at the deadline. */
async function train(night: NightPlan): Promise<ExperimentResult> {
  const child = await begin(night);
  const { deadlineMs } = night;
  if (deadlineMs === null) return child.result();
  const timer = new CancellationScope();
  const atDeadline = timer.run(async () => {
    await sleep(deadlineMs);
    await child.signal(stopAfterEpochSignal);
  });
  atDeadline.catch(() => undefined);
  try {
    return await child.result();
  } finally {
    timer.cancel();
  }
}

const begin = ({
  id,
  night,
  nightly: { name },
  experiment: file,
  from,
}: NightPlan): Promise<ChildWorkflowHandle<typeof experiment>> =>
  startChildExperiment(
    id,
    file,
    `Night ${night} of ${name}: epochs ${(from?.epoch ?? 0) + 1} to ${file.epochs}`,
    'NightUnderWay',
  );

async function compare(night: NightPlan, epoch: number): Promise<Verdicts> {
  const { before, after, shards, ...here } = await compareAgents({ night, epoch });
  const does = phaseActivities(night.settings);
  const evaluate = async (agent: PolicyVersion): Promise<Verdicts['before']> => {
    await does.publishPolicy({ run: here.run, policy: agent });
    const verdicts = await Promise.all(
      Array.from({ length: shards }, (_, shard) => does.evaluatePolicy({ ...here, shard, shards, agent })),
    );
    return verdicts.map(({ file }) => file);
  };
  return { before: await evaluate(before), after: await evaluate(after) };
}

/** The night at a glance, in Markdown, for Temporal's UI and `temporal workflow metadata`. */
export function nightDetails(
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
