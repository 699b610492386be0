import { assets, document, figures } from '../report/document.ts';
import type { Section } from '../report/document.ts';
import { joinMarkup, markup, noMarkup } from '../report/markup.ts';
import type { Markup } from '../report/markup.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import { paperRows } from './paper-figures.ts';
import {
  fewSeedsText,
  NO_PRIMARY,
  PRIMARY_RULE,
  primaryCells,
  primaryColumns,
  primaryVerdictText,
} from './primary-markdown.ts';
import { comparisonCharts } from './report-charts.ts';
import { familyText } from './results-markdown.ts';
import { runMetricNames, runMetrics } from './run-metrics.ts';
import { metricCell } from './metric-cell.ts';
import { differenceText, estimateText, valueText } from './seed-estimates.ts';
import type { Against, Summary } from './summary.ts';

/**
 * Writes the report of a comparison: one page, without the time, so that equal summaries give equal pages.
 * @throws StoreUnavailable
 */
export async function writeComparisonReport(summary: Summary, file: string): Promise<void> {
  const { name, arms, baseline, seeds, epochs, rolloutsPerEpoch, notes } = summary;
  const charts = comparisonCharts(summary);
  const differenceTables = summary.against.map((table) => differencesTable(table, summary.tests));
  const sections: Section[] = [
    { id: 'primary', short: 'Primary', title: 'What was asked?', body: primaryTable(summary) },
    { id: 'claims', short: 'Claims', title: 'What held?', body: claimsTable(summary) },
    {
      id: 'learning',
      short: 'Learning',
      title: 'Which arm learns faster?',
      body: joinMarkup([figures(charts.learning), ...differenceTables]),
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
        arms.flatMap(({ runs }) => runs.map(({ id, ledger }) => [id, markup`<code>${ledger}</code>`])),
      ),
    },
  ].filter(({ body }) => !body.isEmpty);
  const text = document({
    title: `${name} · GenEnv comparison`,
    header: markup`<p class="eyebrow">GenEnv comparison of arms</p>
<h1>${name}</h1>
<p class="quiet">${arms.length} arms · ${seeds.length} ${seeds.length === 1 ? 'seed' : 'seeds'} · ${epochs} epochs of ${rolloutsPerEpoch} rollouts · differences against ${baseline}</p>
${notes.map((note) => markup`<p class="note warn">${note}</p>\n`)}`,
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
    assets: await assets('figures.ts'),
  });
  await atomicWrite(file, text);
}

/** A text with what stands between two asterisks in bold. */
function bold(text: string): Markup {
  const [, before, inside, after] = /^(.*?)\*\*(.+)\*\*(.*)$/s.exec(text) ?? [];
  return inside === undefined ? markup`${text}` : markup`${before ?? ''}<b>${inside}</b>${after ?? ''}`;
}

function primaryTable({ primary, seeds }: Summary): Markup {
  if (primary.length === 0) return markup`<p class="lead">${NO_PRIMARY.replaceAll('`', '')}</p>`;
  const lead = markup`<p class="lead">${PRIMARY_RULE}${fewSeedsText(seeds.length)}</p>`;
  const rows = primary.map((result) => [
    ...primaryCells(result),
    markup`<b>${primaryVerdictText(result)}</b>`,
  ]);
  return joinMarkup([lead, table(primaryColumns, rows)]);
}

function differencesTable({ reference, rows }: Against, tests: number): Markup {
  if (rows.length === 0) return noMarkup;
  const lead = joinMarkup([
    markup`<p class="lead">Arm minus ${reference}, seed by seed, with Student’s 95 % intervals. `,
    markup`${familyText(tests)}</p>`,
  ]);
  const differences = table(
    ['figure', ...rows.map(({ arm }) => arm)],
    runMetricNames.map((metric) => [
      runMetrics[metric].title,
      ...rows.map((row) => bold(differenceText(row.differences[metric], runMetrics[metric].unit))),
    ]),
  );
  return joinMarkup([lead, differences]);
}

const figuresTable = ({ arms }: Summary): Markup =>
  table(
    ['figure', ...arms.map(({ arm }) => arm)],
    runMetricNames.map((metric) => [runMetrics[metric].title, ...arms.map((arm) => metricCell(arm, metric))]),
  );

const guardsTable = ({ arms }: Summary): Markup =>
  table(
    ['arm', 'guards that warn at the end'],
    arms.map(({ arm, warnings, runs }) => [
      arm,
      warnings.length === 0
        ? 'none'
        : joinMarkup(
            warnings.map((warning) => markup`${warningText(warning, runs.length)}`),
            markup`<br>`,
          ),
    ]),
  );

const warningText = (
  { guard, threshold, seeds }: Summary['arms'][number]['warnings'][number],
  runs: number,
): string => `${guard} (wanted ${threshold}): ${seeds} of ${runs} seeds`;

const claimsTable = ({ claims }: Summary): Markup => joinMarkup(claims.map(armClaimsTable));

function armClaimsTable({ arm, rows }: Summary['claims'][number]): Markup {
  const lead = markup`<p class="lead">Judged by the arm ${arm}, by the rules of docs/comparison.md.</p>`;
  const cells = rows.map(({ claim, paper, ours, verdict }) => [
    claim,
    markup`<b>${verdict}</b>`,
    ours,
    paper,
  ]);
  return joinMarkup([lead, table(['claim', 'verdict', 'here', 'the paper'], cells)]);
}

const retentionTable = ({ crossPlay }: Summary): Markup =>
  crossPlay.length === 0
    ? noMarkup
    : table(
        ['arm, tasks of epoch', 'agent of that epoch', 'best before the last', 'last agent', 'forgetting'],
        crossPlay.flatMap(({ arm, retention: { epochs, forgetting } }) =>
          epochs.map(({ epoch, then, best, end }, row) => [
            `${arm}, ${epoch}`,
            valueText(then),
            valueText(best),
            valueText(end),
            row === 0 ? estimateText(forgetting) : '',
          ]),
        ),
      );

function paperTable(summary: Summary): Markup {
  const rows = paperRows(summary);
  const arms = Object.keys(rows[0]?.ours ?? {});
  return arms.length === 0
    ? noMarkup
    : table(
        ['claim', 'paper', ...arms],
        rows.map(({ claim, paper, ours }) => [claim, paper, ...arms.map((arm) => ours[arm] ?? '–')]),
      );
}

type Cell = Markup | string;

function table(head: readonly string[], rows: readonly (readonly Cell[])[]): Markup {
  const headCells = head.map((cell) => markup`<th>${cell}</th>`);
  const body = rows.map(tableRow);
  return markup`<div class="panel scroll"><table><thead><tr>${headCells}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function tableRow([first = '', ...cells]: readonly Cell[]): Markup {
  const rest = cells.map((cell) => markup`<td class="figure">${cell}</td>`);
  return markup`<tr><th scope="row">${first}</th>${rest}</tr>`;
}
