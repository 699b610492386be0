import type { Experiment } from '../../config/experiment.ts';
import { estimateResources } from '../../runs/resource-estimate.ts';
import type { World } from '../../worlds/world.ts';
import { byteText, whole } from '../show/units.ts';

/** What `run --dry-run` prints: the resolved file, then what it would take. */
export function dryRun(experiment: Experiment, world: World): string {
  const { rollouts, tasks, evaluations, tokens, activities, events, runs, disk } = estimateResources(
    experiment,
    world,
  );
  const { epochs } = experiment;
  return [
    JSON.stringify(experiment, null, 2),
    '',
    'What it would take, at most:',
    `epochs      ${whole(epochs)}`,
    `tasks       ${whole(tasks)} written by the simulator`,
    `rollouts    ${whole(rollouts)} (${whole(rollouts / epochs)} an epoch), and ${whole(evaluations)} of held-out evaluation`,
    `tokens      ${whole(tokens)} sampled${experiment.maxTokens === null ? '' : `; capped at ${whole(experiment.maxTokens)}`}`,
    `activities  ${whole(activities)}`,
    `events      about ${whole(events)} in Temporal's histories, in ${whole(epochs)} epoch workflows and ${whole(runs)} runs of the experiment's`,
    `disk        about ${byteText(disk)} in the store`,
    'Nothing was started or written.',
  ].join('\n');
}
