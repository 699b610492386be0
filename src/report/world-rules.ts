import type { Experiment } from '../config/experiment.ts';
import { combine } from './charts/options.ts';
import { formatPercent } from './format.ts';
import type { Rule } from './guard-rule.ts';
import { measuredValues, series } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/** Guards of worlds in which the simulator writes more than tasks; empty for other worlds. */
export function worldRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  return [...wordingRules(series(rows, 'env/inconsistent')), ...labelRules(rows, experiment)];
}

function wordingRules(history: (number | null)[]): Rule[] {
  if (measuredValues(history).length === 0) return [];
  return [
    {
      label: 'Untrue wordings',
      history,
      threshold: '≤ 5 %',
      isOk: (value) => value <= 0.05,
      format: formatPercent,
      explanation:
        'Share of the simulator’s wordings that contradicted what happened. The agent never reads them: ' +
        'the world’s own words stand in, and the task earns that much less.',
    },
  ];
}

function labelRules(rows: readonly EpochRow[], experiment: Experiment | null): Rule[] {
  const votes = series(rows, 'env/label_votes');
  const votesPerLabel =
    experiment !== null && 'vote' in experiment.world ? (experiment.world.vote?.votes ?? null) : null;
  if (votesPerLabel === null || measuredValues(votes).length === 0) return [];
  const labelled = votes.map((cast) => (cast ? cast / votesPerLabel : null));
  const labelShare = (name: string) =>
    combine(series(rows, name), labelled, (tasks, labels) => tasks / labels);
  return [
    {
      label: 'Disputed labels',
      history: labelShare('env/labels_disputed'),
      threshold: '≤ 2 %',
      isOk: (value) => value <= 0.02,
      format: formatPercent,
      explanation:
        'Share of the simulator’s own labels against which most votes agree on another answer.' +
        ' High: it writes wrong labels, of which some pass the vote.',
    },
    {
      label: 'Unconfirmed labels',
      history: labelShare('env/labels_unconfirmed'),
      threshold: 'read with disputed labels',
      isOk: null,
      format: formatPercent,
      explanation:
        'Share of the simulator’s own labels that too few votes confirmed, which makes the task invalid. ' +
        'High with few disputes: the questions are too hard for the model that votes.',
    },
  ];
}
