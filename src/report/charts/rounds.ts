import type { Experiment } from '../../config/experiment.ts';
import { measuredValues, series, trainingRows } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { line, markLevel, overEpochs, unlessEmpty } from './options.ts';
import type { Chart } from './options.ts';

/** Of dynamic sampling: what it cost to fill the agent's step. Nothing in runs without it. */
export function roundCharts(allRows: readonly EpochRow[], experiment: Experiment | null): Chart[] {
  const rows = trainingRows(allRows);
  const rounds = series(rows, 'rollouts/rounds');
  if (measuredValues(rounds).length === 0) return [];
  const perTask = experiment?.agent.rolloutsPerTask ?? null;
  const tasks = series(rows, 'rollouts/count').map((count) =>
    count === null || perTask === null ? null : count / perTask,
  );
  const sampling = experiment?.agent.training?.dynamicSampling;
  const roundLine = line('rounds', rounds, { color: '$blue', width: 3 });
  const informative = line('groups that inform', series(rows, 'rollouts/informative_groups'), {
    color: '$green',
    width: 3,
  });
  return [
    {
      id: 'sampling-rounds',
      title: 'Rounds of dynamic sampling',
      caption:
        'Rounds of tasks and rollouts that it took until enough groups had a signal. At the dashed line the cap ' +
        'ended an epoch, and the agent trained on what there was.',
      option: overEpochs(
        rows,
        [sampling ? markLevel(roundLine, sampling.maxRounds, `cap ${sampling.maxRounds}`) : roundLine],
        { min: 0, ...(sampling && { max: sampling.maxRounds + 1 }) },
      ),
    },
    {
      id: 'sampled-groups',
      title: 'Tasks rolled out, and groups that inform',
      caption:
        'All tasks of all rounds are paid for; only groups in which some rollouts succeed and some fail train the ' +
        'agent. The dashed line is how many were asked for.',
      option: overEpochs(
        rows,
        [
          line('tasks rolled out', tasks, { color: '$slate' }),
          sampling
            ? markLevel(informative, sampling.informativeGroups, `asked for ${sampling.informativeGroups}`)
            : informative,
        ],
        { min: 0 },
      ),
    },
  ].flatMap(unlessEmpty);
}
