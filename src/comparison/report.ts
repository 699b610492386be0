import { assets, document, escapeHtml, figures } from '../report/document.ts';
import type { Section } from '../report/document.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { paperRows } from './paper-figures.ts';
import { comparisonCharts } from './report-charts.ts';
import { runMetricNames, runMetrics } from './run-metrics.ts';
import { differenceText, estimateText, valueText } from './seed-estimates.ts';
import type { Against, Summary } from './summary.ts';

/**
 * Writes the report of a comparison: one page, without the time, so that equal summaries give equal pages.
 * @throws StoreUnavailable
 */
export async function writeComparisonReport(summary: Summary, file: string): Promise<void> {
  const { name, arms, baseline, seeds, epochs, rolloutsPerEpoch, notes } = summary;
  const charts = comparisonCharts(summary);
  const differenceTables = summary.against.map((against) => differencesTable(against, seeds.length));
  const sections: Section[] = [
    { id: 'claims', short: 'Claims', title: 'What held?', body: claimsTable(summary) },
    {
      id: 'learning',
      short: 'Learning',
      title: 'Which arm learns faster?',
      body: figures(charts.learning) + differenceTables.join(''),
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
      'Written by genenv, from the ledgers of the runs and what was measured on their policies. ' +
      'Figures: Apache ECharts.',
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

function differencesTable({ reference, rows }: Against, seeds: number): string {
  if (rows.length === 0) return '';
  const lead =
    `<p class="lead">Arm minus ${escapeHtml(reference)}, seed by seed, with bootstrap 95 % intervals ` +
    `over ${seeds} seeds. Bold where Student’s leave 0 out too.</p>`;
  const differences = table(
    ['figure', ...rows.map(({ arm }) => escapeHtml(arm))],
    runMetricNames.map((metric) => [
      escapeHtml(runMetrics[metric].title),
      ...rows.map((row) => bold(differenceText(row.differences[metric], runMetrics[metric].unit))),
    ]),
  );
  return lead + differences;
}

const figuresTable = ({ arms }: Summary): string =>
  table(
    ['figure', ...arms.map(({ arm }) => escapeHtml(arm))],
    runMetricNames.map((metric) => [
      escapeHtml(runMetrics[metric].title),
      ...arms.map((arm) => escapeHtml(estimateText(arm.figures[metric], runMetrics[metric].unit))),
    ]),
  );

const guardsTable = ({ arms }: Summary): string =>
  table(
    ['arm', 'guards that warn at the end'],
    arms.map(({ arm, warnings, runs }) => [
      escapeHtml(arm),
      warnings.length === 0
        ? 'none'
        : warnings.map((warning) => escapeHtml(warningText(warning, runs.length))).join('<br>'),
    ]),
  );

const warningText = (
  { guard, threshold, seeds }: Summary['arms'][number]['warnings'][number],
  runs: number,
): string => `${guard} (wanted ${threshold}): ${seeds} of ${runs} seeds`;

const claimsTable = ({ claims }: Summary): string => claims.map(armClaimsTable).join('');

function armClaimsTable({ arm, rows }: Summary['claims'][number]): string {
  const lead = `<p class="lead">Judged by the arm ${escapeHtml(arm)}, by the rules of docs/comparison.md.</p>`;
  const cells = rows.map(({ claim, paper, ours, verdict }) => [
    escapeHtml(claim),
    `<b>${verdict}</b>`,
    escapeHtml(ours),
    escapeHtml(paper),
  ]);
  return lead + table(['claim', 'verdict', 'here', 'the paper'], cells);
}

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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const headCells = head.map((cell) => `<th>${cell}</th>`).join('');
  const body = rows.map(tableRow).join('');
  return `<div class="panel scroll"><table><thead><tr>${headCells}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function tableRow([first, ...cells]: readonly string[]): string {
  const rest = cells.map((cell) => `<td class="figure">${cell}</td>`).join('');
  return `<tr><th scope="row">${first}</th>${rest}</tr>`;
}
