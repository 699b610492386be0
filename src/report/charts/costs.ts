import type { SeriesOption } from 'echarts';
import { namesUnder, series, trained } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { colorAt, line, overEpochs, unlessEmpty } from './parts.ts';
import type { Chart } from './parts.ts';

/** What was dropped and why. Reasons that never occurred are left out. */
export function droppedCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trained(allRows);
  const bars = (prefix: string): SeriesOption[] =>
    namesUnder(rows, prefix)
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
      option: overEpochs(rows, bars('env/filtered/'), { bars: true }),
    },
  ].flatMap(unlessEmpty);
}

/** What it cost. */
export function costCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trained(allRows);
  const phases = [...new Set(rows.flatMap(({ time }) => Object.keys(time)))].filter(
    (phase) => phase !== 'epoch',
  );
  const average = (phase: string) => rows.reduce((sum, { time }) => sum + (time[phase] ?? 0), 0);
  phases.sort((a, b) => average(b) - average(a));
  const charts: Chart[] = [
    {
      id: 'time',
      title: 'Time by phase',
      size: 'wide',
      caption:
        'Seconds of each epoch, the longest phase at the bottom. The dashed line is the whole epoch; what is above the areas is orchestration.',
      option: overEpochs(
        rows,
        [
          ...phases.map((phase, index) =>
            line(
              phase.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
              rows.map(({ time }) => time[phase] ?? null),
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
