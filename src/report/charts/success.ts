import { TARGET_BAND } from '../../coevolution/in-band.ts';
import { benchmarkPrefix } from '../benchmark-scores.ts';
import { evaluationsOf } from '../verdict.ts';
import { measured, namesUnder, series, trained } from '../run-data.ts';
import type { EpochRow } from '../run-data.ts';
import { trailingMean } from '../statistics.ts';
import type { HeldOutGrid } from '../held-out.ts';
import { beside, colorAt, heatMap, line, overEpochs, points, ribbon, shaded, unlessEmpty } from './parts.ts';
import type { Chart } from './parts.ts';

const bandText = `band [${TARGET_BAND.low}, ${TARGET_BAND.high}]`;

/** Is the agent kept at the edge of its ability, and by what tasks? */
export function frontierCharts(allRows: readonly EpochRow[]): Chart[] {
  const rows = trained(allRows);
  const rates = series(rows, 'env/success_rate');
  const difficulty = series(rows, 'env/difficulty');
  const spread = series(rows, 'env/difficulty_sd');
  const charts: Chart[] = [
    {
      id: 'success-rate',
      title: 'Success rate on the simulator’s tasks',
      size: 'wide',
      caption:
        'Mean p̂ over valid new tasks: one dot an epoch, the line is their 5-epoch mean. The shaded band is where an agent learns fastest.',
      option: overEpochs(
        rows,
        [
          shaded(
            line('5-epoch mean', trailingMean(rates), { color: '$blue', width: 3 }),
            [TARGET_BAND.low, TARGET_BAND.high],
            bandText,
          ),
          points('epoch', rates, '$blue'),
        ],
        { min: 0, max: 1 },
      ),
    },
    ...histogram(rows),
    {
      id: 'difficulty',
      title: 'Task difficulty',
      caption:
        'What the simulator writes: mean and standard deviation of the world’s own measure. The dashed line weighs tasks by how often they are solved.',
      option: overEpochs(
        rows,
        [
          ...ribbon('difficulty', beside(difficulty, spread, -1), beside(difficulty, spread, 1), '$orange'),
          line('mean', difficulty, { color: '$orange', width: 3 }),
          line('solved', series(rows, 'env/difficulty_solved'), { color: '$green', dashed: true }),
        ],
        { min: 0 },
      ),
    },
  ];
  return charts.flatMap(unlessEmpty);
}

function histogram(rows: EpochRow[]): Chart[] {
  const ks = namesUnder(rows, 'env/success_rate_hist/');
  const cells = rows.flatMap(({ metrics }, column) =>
    ks.map((k, row): [number, number, number | null] => [
      column,
      row,
      metrics[`env/success_rate_hist/${k}`] ?? 0,
    ]),
  );
  if (cells.length === 0) return [];
  const n = ks.at(-1) ?? '';
  return [
    {
      id: 'success-histogram',
      title: 'Tasks by number of successes',
      caption: `Each column is an epoch: how many tasks were solved in k of ${n} attempts. A healthy run is bright in the middle; two bright edges are tasks that teach nothing.`,
      option: heatMap({
        columns: rows.map(({ epoch }) => String(epoch)),
        rows: ks.map((k) => `${k}/${n}`),
        cells,
        max: Math.max(1, ...cells.map(([, , value]) => value ?? 0)),
        valueName: 'tasks',
      }),
    },
  ];
}

/** Did the agent learn what it was not trained on? */
export function heldOutCharts(rows: readonly EpochRow[], grids: readonly HeldOutGrid[]): Chart[] {
  const evaluations = evaluationsOf(rows);
  const evaluated = rows.filter(({ epoch }) => evaluations.some((one) => one.epoch === epoch));
  const kinds = namesUnder(rows, 'eval/heldout/');
  const passes = series(evaluated, 'eval/pass_at_k');
  const suites = namesUnder(rows, benchmarkPrefix);
  const benchmarked = rows.filter(({ metrics }) =>
    suites.some((suite) => typeof metrics[`${benchmarkPrefix}${suite}`] === 'number'),
  );
  return [
    {
      id: 'held-out',
      title: 'Held-out success',
      ...(grids.length === 0 && kinds.length === 0 ? { size: 'wide' as const } : {}),
      caption: `Tasks that the simulator never sees, with 95 % Wilson intervals.${measured(passes).length === 0 ? '' : ' pass@k: solved in at least one of k attempts. Level or falling while success rises, training only sharpened what the agent could do.'}`,
      option: overEpochs(
        evaluated,
        [
          ...ribbon(
            'interval',
            evaluations.map(({ low }) => low),
            evaluations.map(({ high }) => high),
            '$green',
          ),
          {
            ...line(
              'held-out',
              evaluations.map(({ value }) => value),
              { color: '$green', width: 3 },
            ),
            showSymbol: true,
          },
          ...(measured(passes).length === 0 ? [] : [line('pass@k', passes, { color: '$purple' })]),
        ],
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'held-out-kinds',
      title: 'Held-out success by kind',
      caption: 'A kind that stays behind was not practised, or is harder.',
      option: overEpochs(
        evaluated,
        kinds.map((kind, index) =>
          line(kind, series(evaluated, `eval/heldout/${kind}`), { color: colorAt(index) }),
        ),
        { min: 0, max: 1 },
      ),
    },
    {
      id: 'benchmarks',
      title: 'Benchmarks',
      caption:
        'The main score of each suite that the agent was evaluated on; intervals are in the evaluations’ own files.',
      option: overEpochs(
        benchmarked,
        suites.map((suite, index) => ({
          ...line(suite, series(benchmarked, `${benchmarkPrefix}${suite}`), { color: colorAt(index) }),
          showSymbol: true,
        })),
        { min: 0, max: 1 },
      ),
    },
    ...grids.map(({ epoch, kinds: columns, difficulties, cells }, index): Chart => ({
      id: `held-out-grid-${index === 0 ? 'start' : 'end'}`,
      title: `Held-out success after epoch ${epoch}`,
      caption: 'Share solved, by kind and difficulty. Empty cells have no held-out task.',
      option: heatMap({
        columns: difficulties,
        rows: columns,
        cells,
        max: 1,
        valueName: 'success',
        axes: ['difficulty', 'kind'],
      }),
    })),
  ].flatMap(unlessEmpty);
}
