import { namesUnder, series, trained } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { colorAt, line, overEpochs, unlessEmpty } from './parts.ts';
import type { Chart, Values } from './parts.ts';

/** Does the band mean anything? */
export function guardCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trained(allRows);
  const of = (name: string) => series(rows, name);
  const byKind = (prefix: string, area: boolean) =>
    namesUnder(rows, prefix).map((kind, index) =>
      line(kind, of(`${prefix}${kind}`), {
        color: colorAt(index),
        ...(area ? { area, stack: 'kinds' } : {}),
      }),
    );
  return [
    {
      id: 'informative-groups',
      title: 'How much the tasks can teach',
      caption:
        'Share of groups with mixed outcomes, and the mean signal 4p(1−p). Both should stand high while success is in the band.',
      option: overEpochs(
        rows,
        [
          line('effective groups', of('env/effective_group_ratio'), { color: '$blue' }),
          line('signal 4p(1−p)', of('env/signal'), { color: '$orange' }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'baselines',
      title: 'Agent against baselines',
      caption:
        'The same tasks answered by the frozen initial agent and at random. The gap to the frozen agent is what was learned.',
      option: overEpochs(
        rows,
        [
          line('agent', of('env/success_rate'), { color: '$blue' }),
          line('frozen agent', of('env/frozen_success_rate'), { color: '$purple' }),
          line('random policy', of('env/random_success_rate'), { color: '$red' }),
          line('discrimination', of('env/discrimination'), { color: '$teal', dashed: true }),
        ],
        { ...floor(of('env/discrimination')), max: 1 },
      ),
    },
    {
      id: 'reliability',
      title: 'Trust in the verdicts',
      caption:
        'Two verdicts on every answer must agree; split-half reliability says whether tasks differ in difficulty.',
      option: overEpochs(
        rows,
        [
          line('verdict agreement', of('env/verdict_agreement'), { color: '$green' }),
          line('split-half reliability', of('env/split_half_reliability'), { color: '$orange' }),
        ],
        { ...floor(of('env/split_half_reliability')), max: 1 },
      ),
    },
    {
      id: 'writing',
      title: 'What the simulator writes',
      caption: 'Share of valid and of distinct tasks, and the distance to those of earlier epochs.',
      option: overEpochs(
        rows,
        [
          line('valid', of('env/valid_fraction'), { color: '$green' }),
          line('distinct', of('env/distinct_fraction'), { color: '$blue' }),
          line('distance to archive', of('env/archive_distance'), { color: '$purple' }),
        ],
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'kinds',
      title: 'Share of each kind of task',
      caption: 'One kind that takes over is the usual sign of an exploited weakness.',
      option: overEpochs(rows, byKind('env/kind/', true), { min: 0, max: 1 }),
    },
    {
      id: 'learning-progress',
      title: 'Learning progress by kind',
      caption:
        'Fast minus slow average of success. Above 0: getting better at it; 0 at constant difficulty: nothing is learned.',
      option: overEpochs(rows, byKind('env/learning_progress/', false)),
    },
  ].flatMap(unlessEmpty);
}

/** An axis from 0, or from -1 where something is negative. */
const floor = (values: Values): { min: number } => ({
  min: values.some((value) => value !== null && value < 0) ? -1 : 0,
});
