import { differenceText, estimateText, valueText } from '../../comparison/estimate-text.ts';
import { figureNames, figures as kinds } from '../../comparison/figures.ts';
import type { FigureName } from '../../comparison/figures.ts';
import { paperRows } from '../../comparison/paper.ts';
import type { Against, Summary } from '../../comparison/summary.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import { assets, document, figures } from '../document.ts';
import type { Section } from '../document.ts';
import { html } from '../format.ts';
import { comparisonCharts } from './charts.ts';

/** Writes the report of a comparison: one page, without the time, so that equal summaries give equal pages. @throws StoreUnavailable */
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
        arms.flatMap(({ runs }) => runs.map(({ id, ledger }) => [html(id), `<code>${ledger}</code>`])),
      ),
    },
  ].filter(({ body }) => body !== '');
  const text = document({
    title: `${name} · GenEnv comparison`,
    header: `<p class="eyebrow">GenEnv comparison of arms</p>
<h1>${html(name)}</h1>
<p class="quiet">${arms.length} arms · ${seeds.length} ${seeds.length === 1 ? 'seed' : 'seeds'} · ${epochs} epochs of ${rolloutsPerEpoch} rollouts · differences against ${html(baseline)}</p>
${notes.map((note) => `<p class="note warn">${html(note)}</p>`).join('\n')}`,
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

const bold = (text: string): string => html(text).replace(/\*\*(.+)\*\*/, '<b>$1</b>');
const of = (figure: FigureName) => kinds[figure].unit;

const differencesTable = ({ reference, rows }: Against, seeds: number): string =>
  rows.length === 0
    ? ''
    : `<p class="lead">Arm minus ${html(reference)}, seed by seed, with bootstrap 95 % intervals over ${seeds} seeds. Bold where Student’s leave 0 out too.</p>${table(
        ['figure', ...rows.map(({ arm }) => html(arm))],
        figureNames.map((figure) => [
          html(kinds[figure].title),
          ...rows.map(({ differences }) => bold(differenceText(differences[figure], of(figure)))),
        ]),
      )}`;

const figuresTable = ({ arms }: Summary): string =>
  table(
    ['figure', ...arms.map(({ arm }) => html(arm))],
    figureNames.map((figure) => [
      html(kinds[figure].title),
      ...arms.map(({ figures: own }) => html(estimateText(own[figure], of(figure)))),
    ]),
  );

const guardsTable = ({ arms }: Summary): string =>
  table(
    ['arm', 'guards that warn at the end'],
    arms.map(({ arm, warnings, runs }) => [
      html(arm),
      warnings.length === 0
        ? 'none'
        : warnings
            .map(({ guard, threshold, seeds }) =>
              html(`${guard} (wanted ${threshold}): ${seeds} of ${runs.length} seeds`),
            )
            .join('<br>'),
    ]),
  );

const claimsTable = ({ claims }: Summary): string =>
  claims
    .map(
      ({ arm, rows }) =>
        `<p class="lead">Judged by the arm ${html(arm)}, by the rules of docs/comparison.md.</p>${table(
          ['claim', 'verdict', 'here', 'the paper'],
          rows.map(({ claim, paper, ours, verdict }) => [
            html(claim),
            `<b>${verdict}</b>`,
            html(ours),
            html(paper),
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
            html(`${arm}, ${epoch}`),
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
        ['claim', 'paper', ...arms.map(html)],
        rows.map(({ claim, paper, ours }) => [
          html(claim),
          html(paper),
          ...arms.map((arm) => html(ours[arm] ?? '–')),
        ]),
      );
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  `<div class="panel scroll"><table><thead><tr>${head.map((cell) => `<th>${cell}</th>`).join('')}</tr></thead><tbody>${rows.map(([first, ...cells]) => `<tr><th scope="row">${first}</th>${cells.map((cell) => `<td class="figure">${cell}</td>`).join('')}</tr>`).join('')}</tbody></table></div>`;
