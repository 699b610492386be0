import type { SeriesOption } from 'echarts';
import { TARGET_BAND } from '../coevolution/diagnostics.ts';
import {
  colorAt,
  heatMap,
  line,
  marked,
  overEpochs,
  ribbon,
  shaded,
  unlessEmpty,
} from '../report/charts/options.ts';
import type { Chart, Values } from '../report/charts/options.ts';
import { assets, document, escapeHtml, figures } from '../report/document.ts';
import type { Section } from '../report/document.ts';
import { trailingMean } from '../report/findings.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import type { EpochSeries } from './arm-summary.ts';
import type { CrossPlaySummary } from './cross-play.ts';
import { differenceText, estimateText, valueText } from './over-seeds.ts';
import type { ProbeSummary } from './probes.ts';
import { paperRows } from './results-markdown.ts';
import { runMetricNames, runMetrics as kinds } from './run-metrics.ts';
import type { RunMetricName } from './run-metrics.ts';
import type { Against, Summary } from './summary.ts';

/**
 * Writes the report of a comparison: one page, without the time, so that equal summaries give equal pages.
 * @throws StoreUnavailable
 */
export async function writeComparisonReport(summary: Summary, file: string): Promise<void> {
  const { name, arms, baseline, seeds, epochs, rolloutsPerEpoch, notes } = summary;
  const charts = comparisonCharts(summary);
  const sections: Section[] = [
    { id: 'claims', short: 'Claims', title: 'What held?', body: claimsTable(summary) },
    {
      id: 'learning',
      short: 'Learning',
      title: 'Which arm learns faster?',
      body: `${figures(charts.learning)}${summary.against.map((one) => differencesTable(one, seeds.length)).join('')}`,
    },
    {
      id: 'curriculum',
      short: 'Curriculum',
      title: 'What did each arm train on?',
      body: figures(charts.curriculum),
    },
    { id: 'figures', short: 'Figures', title: 'All figures', body: figuresTable(summary) },
    { id: 'guards', short: 'Guards', title: 'Can the band be trusted?', body: guardsTable(summary) },
    { id: 'cross-play', short: 'Cross-play', title: 'Do both sides move?', body: figures(charts.crossPlay) },
    { id: 'retention', short: 'Retention', title: 'Is old skill kept?', body: retentionTable(summary) },
    { id: 'probes', short: 'Theory', title: 'Does the theory hold?', body: figures(charts.probes) },
    { id: 'paper', short: 'Paper', title: 'Beside the paper', body: paperTable(summary) },
    {
      id: 'runs',
      short: 'Runs',
      title: 'Runs',
      body: table(
        ['run', 'last line of its ledger'],
        arms.flatMap(({ runs }) => runs.map(({ id, ledger }) => [escapeHtml(id), `<code>${ledger}</code>`])),
      ),
    },
  ].filter(({ body }) => body !== '');
  const text = document({
    title: `${name} · GenEnv comparison`,
    header: `<p class="eyebrow">GenEnv comparison of arms</p>
<h1>${escapeHtml(name)}</h1>
<p class="quiet">${arms.length} arms · ${seeds.length} ${seeds.length === 1 ? 'seed' : 'seeds'} · ${epochs} epochs of ${rolloutsPerEpoch} rollouts · differences against ${escapeHtml(baseline)}</p>
${notes.map((note) => `<p class="note warn">${escapeHtml(note)}</p>`).join('\n')}`,
    sections,
    footer:
      'Written by genenv, from the ledgers of the runs and what was measured on their policies. Figures: Apache ECharts.',
    withoutScripts: 'The figures need JavaScript; the tables do not.',
    data: {
      charts: Object.fromEntries(
        Object.values(charts)
          .flat()
          .map(({ id, option }) => [id, option]),
      ),
    },
    assets: await assets('charts.js'),
  });
  await atomicWrite(file, text);
}

const bold = (text: string): string => escapeHtml(text).replace(/\*\*(.+)\*\*/, '<b>$1</b>');
const of = (figure: RunMetricName) => kinds[figure].unit;

const differencesTable = ({ reference, rows }: Against, seeds: number): string =>
  rows.length === 0
    ? ''
    : `<p class="lead">Arm minus ${escapeHtml(reference)}, seed by seed, with bootstrap 95 % intervals over ${seeds} seeds. Bold where Student’s leave 0 out too.</p>${table(
        ['figure', ...rows.map(({ arm }) => escapeHtml(arm))],
        runMetricNames.map((figure) => [
          escapeHtml(kinds[figure].title),
          ...rows.map(({ differences }) => bold(differenceText(differences[figure], of(figure)))),
        ]),
      )}`;

const figuresTable = ({ arms }: Summary): string =>
  table(
    ['figure', ...arms.map(({ arm }) => escapeHtml(arm))],
    runMetricNames.map((figure) => [
      escapeHtml(kinds[figure].title),
      ...arms.map(({ figures: own }) => escapeHtml(estimateText(own[figure], of(figure)))),
    ]),
  );

const guardsTable = ({ arms }: Summary): string =>
  table(
    ['arm', 'guards that warn at the end'],
    arms.map(({ arm, warnings, runs }) => [
      escapeHtml(arm),
      warnings.length === 0
        ? 'none'
        : warnings
            .map(({ guard, threshold, seeds }) =>
              escapeHtml(`${guard} (wanted ${threshold}): ${seeds} of ${runs.length} seeds`),
            )
            .join('<br>'),
    ]),
  );

const claimsTable = ({ claims }: Summary): string =>
  claims
    .map(
      ({ arm, rows }) =>
        `<p class="lead">Judged by the arm ${escapeHtml(arm)}, by the rules of docs/comparison.md.</p>${table(
          ['claim', 'verdict', 'here', 'the paper'],
          rows.map(({ claim, paper, ours, verdict }) => [
            escapeHtml(claim),
            `<b>${verdict}</b>`,
            escapeHtml(ours),
            escapeHtml(paper),
          ]),
        )}`,
    )
    .join('');

const retentionTable = ({ crossPlay }: Summary): string =>
  crossPlay.length === 0
    ? ''
    : table(
        ['arm, tasks of epoch', 'agent of that epoch', 'best before the last', 'last agent', 'forgetting'],
        crossPlay.flatMap(({ arm, retention: { epochs, forgetting } }) =>
          epochs.map(({ epoch, then, best, end }, row) => [
            escapeHtml(`${arm}, ${epoch}`),
            valueText(then),
            valueText(best),
            valueText(end),
            row === 0 ? estimateText(forgetting) : '',
          ]),
        ),
      );

function paperTable(summary: Summary): string {
  const rows = paperRows(summary);
  const arms = Object.keys(rows[0]?.ours ?? {});
  return arms.length === 0
    ? ''
    : table(
        ['claim', 'paper', ...arms.map(escapeHtml)],
        rows.map(({ claim, paper, ours }) => [
          escapeHtml(claim),
          escapeHtml(paper),
          ...arms.map((arm) => escapeHtml(ours[arm] ?? '–')),
        ]),
      );
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="panel scroll"><table><thead><tr>${head.map((cell) => `<th>${cell}</th>`).join('')}</tr></thead><tbody>${rows.map(([first, ...cells]) => `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td class="figure">${cell}</td>`).join('')}</tr>`).join('')}</tbody></table></div>`;

/** The figures of a comparison; one that nothing was measured for is not there. */
export function comparisonCharts(summary: Summary): {
  learning: Chart[];
  curriculum: Chart[];
  crossPlay: Chart[];
  probes: Chart[];
} {
  return {
    learning: [learningCurves(summary)].flatMap(unlessEmpty),
    curriculum: curriculum(summary).flatMap(unlessEmpty),
    crossPlay: summary.crossPlay.map(matrix),
    probes: summary.probes.flatMap(probeCharts),
  };
}

/** Every arm's mean with its interval, at the same numbers of rollouts. */
function learningCurves({ arms, threshold, rollouts: upTo }: Summary): Chart {
  const rollouts = (arms[0]?.curve ?? []).map((point) => point.rollouts);
  const series = arms.flatMap(({ arm, curve }, index) => {
    const at = (value: (point: (typeof curve)[number]) => number | null) =>
      rollouts.map((place) => curve.filter((point) => point.rollouts === place).map(value)[0] ?? null);
    const mean = {
      ...line(
        arm,
        at((point) => point.mean),
        { color: colorAt(index), width: 3 },
      ),
      showSymbol: true,
    };
    return [
      ...ribbon(
        arm,
        at(({ low }) => low),
        at(({ high }) => high),
        colorAt(index),
      ),
      index === 0 ? marked(mean, threshold, `threshold ${threshold}`) : mean,
    ];
  });
  return {
    id: 'learning',
    title: 'Held-out success against rollouts',
    size: 'wide',
    caption: `Mean over seeds with Student’s 95 % interval, up to the ${upTo} rollouts that every run made.`,
    option: overEpochs(
      rollouts.map((epoch) => ({ epoch })),
      series,
      { min: 0, max: 1 },
    ),
  };
}

function curriculum({ arms, epochs }: Summary): Chart[] {
  const rows = Array.from({ length: epochs }, (_, index) => ({ epoch: index + 1 }));
  const chart = (
    id: string,
    title: string,
    caption: string,
    course: keyof EpochSeries,
    axes: { min?: number; max?: number } = {},
  ): Chart => ({
    id,
    title,
    caption,
    option: overEpochs(
      rows,
      arms.map(({ arm, courses }, index) =>
        line(arm, trailingMean(courses[course]), { color: colorAt(index) }),
      ),
      axes,
    ),
  });
  const success = chart(
    'success',
    'Success on the arm’s own tasks',
    '5-epoch means over the seeds. A band by itself is no learning: read it beside the learning curves.',
    'success',
    { min: 0, max: 1 },
  );
  const [first, ...others] = [success.option.series ?? []].flat();
  return [
    first === undefined
      ? success
      : {
          ...success,
          option: {
            ...success.option,
            series: [shaded(first, [TARGET_BAND.low, TARGET_BAND.high], 'band'), ...others],
          },
        },
    chart(
      'difficulty',
      'Difficulty asked for',
      'Mean difficulty of the valid tasks, in the world’s own unit.',
      'difficulty',
      { min: 0 },
    ),
    chart(
      'length',
      'Length of correct answers',
      'Tokens. Only correct answers count: a wrong one may be of any length.',
      'correctLength',
      { min: 0 },
    ),
    chart(
      'informative',
      'Informative groups',
      'Share of tasks that were solved sometimes, not always or never.',
      'informative',
      { min: 0, max: 1 },
    ),
    chart('unsolved', 'Tasks never solved', 'Share of tasks with k = 0.', 'unsolved', { min: 0, max: 1 }),
    chart('solved', 'Tasks always solved', 'Share of tasks with k = n.', 'solved', { min: 0, max: 1 }),
  ];
}

function matrix({ arm, seeds, epochs, rates }: CrossPlaySummary): Chart {
  const names = epochs.map(String);
  return {
    id: `cross-play-${arm}`,
    title: `Cross-play: ${arm}`,
    caption: `Success of each agent on each simulator’s tasks, mean over ${seeds.length === 1 ? 'one seed' : `${seeds.length} seeds`}. Co-evolution darkens upwards and pales to the right.`,
    option: heatMap({
      columns: names,
      rows: names,
      cells: rates.flatMap((row, agent) =>
        row.map((rate, simulator): [number, number, number | null] => [
          simulator,
          agent,
          rate === null ? null : Number(rate.toFixed(3)),
        ]),
      ),
      max: 1,
      valueName: 'success',
      axes: ['simulator of epoch', 'agent of epoch'],
      labels: true,
    }),
  };
}

const grid = { left: 8, right: 14, top: 38, bottom: 24, containLabel: true };
const overCategories = (
  categories: readonly string[],
  name: string,
  series: SeriesOption[],
  max?: number,
): Chart['option'] => ({
  animation: false,
  grid,
  legend: {
    data: series.map((one) => String(one.name)).filter((label) => !label.includes(', ')),
    top: 0,
    left: 0,
    itemWidth: 14,
    itemHeight: 8,
    itemGap: 14,
    padding: [4, 0],
  },
  tooltip: { trigger: 'axis', confine: true },
  xAxis: {
    type: 'category',
    data: [...categories],
    name,
    nameLocation: 'middle',
    nameGap: 24,
    axisTick: { show: false },
  },
  yAxis: { type: 'value', min: 0, splitNumber: 4, ...(max === undefined ? {} : { max }) },
  series,
});
const rounded = (values: Values): Values =>
  values.map((value) => (value === null ? null : Number(value.toFixed(4))));

/** The figures of an arm's probes; one that nothing was measured for is not there. */
export function probeCharts({ arm, signal, ranking }: ProbeSummary): Chart[] {
  return [
    ...(signal === null
      ? []
      : [
          {
            id: `signal-${arm}`,
            title: `Gradient signal by success rate: ${arm}`,
            caption: `Mean ‖(r − p̂) ∇ log π‖² over tasks in each tenth of p̂, in units of the agent’s mean ‖∇ log π‖², and its fit by c · p(1−p): R² ${signal.r2?.toFixed(2) ?? '–'}.`,
            option: overCategories(
              signal.bins.map(({ low, high }) => `${low.toFixed(1)}–${high.toFixed(1)}`),
              'p̂',
              [
                line('measured', rounded(signal.bins.map(({ norm }) => norm)), { color: '$blue', width: 3 }),
                line(
                  'fit',
                  rounded(
                    signal.bins.map(({ variance }) => (variance === null ? null : signal.slope * variance)),
                  ),
                  { color: '$orange', dashed: true },
                ),
              ],
            ),
          },
        ]),
    ...(ranking.length === 0
      ? []
      : [
          {
            id: `ranking-${arm}`,
            title: `Mis-ranked pairs by attempts: ${arm}`,
            caption:
              'Share of pairs of tasks that n attempts rank wrongly by R_env, what binomials say with p as uncertain as its estimate (99 % range shaded), and Theorem 1’s bound.',
            option: overCategories(
              ranking.map(({ n }) => String(n)),
              'n',
              [
                ...ribbon(
                  'expected',
                  rounded(ranking.map(({ low }) => low)),
                  rounded(ranking.map(({ high }) => high)),
                  '$orange',
                ),
                line('measured', rounded(ranking.map(({ measured }) => measured)), {
                  color: '$blue',
                  width: 3,
                }),
                line('expected', rounded(ranking.map(({ expected }) => expected)), {
                  color: '$orange',
                  dashed: true,
                }),
                line('Theorem 1', rounded(ranking.map(({ bound }) => bound)), {
                  color: '$slate',
                  dashed: true,
                }),
              ],
              1,
            ),
          },
        ]),
  ];
}
