import type { SeriesOption } from 'echarts';
import { namesUnder, series, trainingRows } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { colorAt, line, overEpochs, unlessEmpty } from './options.ts';
import type { Chart, Values } from './options.ts';

/** Does the band mean anything? */
export function guardCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trainingRows(allRows);
  const metric = (name: string) => series(rows, name);
  const byKind = (prefix: string, area: boolean) =>
    namesUnder(rows, prefix).map((kind, index) =>
      line(kind, metric(`${prefix}${kind}`), {
        color: colorAt(index),
        ...(area ? { area, stack: 'kinds' } : {}),
      }),
    );
  return [
    {
      id: 'informative-groups',
      title: 'How much the tasks can teach',
      caption:
        'Share of groups with mixed outcomes, and the mean signal 4p(1−p). Both should stand high while ' +
        'success is in the band.',
      option: overEpochs(
        rows,
        [
          line('effective groups', metric('env/effective_group_ratio'), { color: '$blue' }),
          line('signal 4p(1−p)', metric('env/signal'), { color: '$orange' }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'baselines',
      title: 'Agent against baselines',
      caption:
        'The same tasks answered by the frozen initial agent and at random. The gap to the frozen agent is ' +
        'what was learned.',
      option: overEpochs(
        rows,
        [
          line('agent', metric('env/success_rate'), { color: '$blue' }),
          line('frozen agent', metric('env/frozen_success_rate'), { color: '$purple' }),
          line('random policy', metric('env/random_success_rate'), { color: '$red' }),
          line('discrimination', metric('env/discrimination'), { color: '$teal', dashed: true }),
        ],
        { ...floor(metric('env/discrimination')), max: 1 },
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
          line('verdict agreement', metric('env/verdict_agreement'), { color: '$green' }),
          line('split-half reliability', metric('env/split_half_reliability'), { color: '$orange' }),
        ],
        { ...floor(metric('env/split_half_reliability')), max: 1 },
      ),
    },
    {
      id: 'writing',
      title: 'What the simulator writes',
      caption: 'Share of valid and of distinct tasks, and the distance to those of earlier epochs.',
      option: overEpochs(
        rows,
        [
          line('valid', metric('env/valid_fraction'), { color: '$green' }),
          line('distinct', metric('env/distinct_fraction'), { color: '$blue' }),
          line('distance to archive', metric('env/archive_distance'), { color: '$purple' }),
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
        'Fast minus slow average of success. Above 0: getting better at it; 0 at constant difficulty: ' +
        'nothing is learned.',
      option: overEpochs(rows, byKind('env/learning_progress/', false)),
    },
  ].flatMap(unlessEmpty);
}

/** An axis from 0, or from -1 if a value is negative. */
const floor = (values: Values): { min: number } => ({
  min: values.some((value) => value !== null && value < 0) ? -1 : 0,
});

/** What was dropped and why. Reasons that never occurred are left out. */
export function droppedCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trainingRows(allRows);
  const bars = (prefix: string, except: readonly string[] = []): SeriesOption[] =>
    namesUnder(rows, prefix)
      .filter((reason) => !except.includes(reason))
      .map((reason) => ({ reason, counts: series(rows, `${prefix}${reason}`) }))
      .filter(({ counts }) => counts.some((count) => count !== null && count > 0))
      .map(({ reason, counts }, index) => ({
        type: 'bar',
        name: reason.replaceAll('_', ' '),
        data: counts,
        stack: 'reasons',
        color: colorAt(index + 1),
        barCategoryGap: '18%',
      }));
  return [
    {
      id: 'invalid',
      title: 'Invalid tasks by reason',
      caption:
        'Texts of the simulator that are no task. They are counted and stored, and never enter a pool.',
      option: overEpochs(rows, bars('env/invalid/'), { bars: true }),
    },
    {
      id: 'filtered',
      title: 'Filtered tasks by reason',
      caption: 'Tasks held back from an update by the difficulty filter.',
      option: overEpochs(rows, bars('env/filtered/', ['kept', 'invalid']), { bars: true }),
    },
  ].flatMap(unlessEmpty);
}

/** What it cost. */
export function costCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trainingRows(allRows);
  const phases = [...new Set(rows.flatMap(({ time }) => Object.keys(time)))].filter(
    (phase) => phase !== 'epoch',
  );
  const totalSeconds = (phase: string) => rows.reduce((sum, { time }) => sum + (time[phase] ?? 0), 0);
  phases.sort((a, b) => totalSeconds(b) - totalSeconds(a));
  const charts: Chart[] = [
    {
      id: 'time',
      title: 'Time by phase',
      size: 'wide',
      caption:
        'Seconds of each epoch, the longest phase at the bottom. The dashed line is the whole epoch; what ' +
        'is above the areas is orchestration.',
      option: overEpochs(
        rows,
        [
          ...phases.map((phase, index) =>
            line(
              phase.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
              // A phase that an epoch does without took no time; of an epoch without times nothing is known.
              rows.map(({ time }) => time[phase] ?? (time.epoch === undefined ? null : 0)),
              { color: colorAt(index), area: true, stack: 'time' },
            ),
          ),
          line(
            'epoch',
            rows.map(({ time }) => time.epoch ?? null),
            { color: '$slate', dashed: true, width: 1 },
          ),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'pools',
      size: 'third',
      title: 'Pools',
      caption: 'Tasks kept for the agent (D_train) and records kept for the simulator (D_env).',
      option: overEpochs(
        rows,
        [
          line('D_train tasks', series(rows, 'pool/train_size'), { color: '$blue' }),
          line('D_env records', series(rows, 'pool/env_size'), { color: '$orange' }),
        ],
        { min: 0 },
      ),
    },
    {
      id: 'pool-age',
      size: 'third',
      title: 'Age of the simulator’s records',
      caption: 'Epochs, in the mean. Old records carry success rates of an older agent.',
      option: overEpochs(rows, [line('mean age', series(rows, 'pool/env_mean_age'), { color: '$orange' })], {
        min: 0,
      }),
    },
    {
      id: 'tokens',
      size: 'third',
      title: 'Tokens sampled',
      caption: 'By both policies, since the start.',
      option: overEpochs(rows, [line('tokens', series(rows, 'num_tokens'), { color: '$teal', area: true })], {
        min: 0,
      }),
    },
  ];
  return charts.flatMap(unlessEmpty);
}
