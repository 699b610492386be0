import type { EvaluationView, FigureView, PaperRowView, SuiteView } from '../evaluation/evaluation-view.ts';
import { formatCount } from './format.ts';
import { joinMarkup, markup, noMarkup } from './markup.ts';
import type { Markup } from './markup.ts';

const percent = (rate: number | null): string =>
  rate === null ? '–' : (100 * rate).toFixed(2).replace('-', '−');

const intervalText = (low: number | null, high: number | null): string =>
  low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`;

/** A rate on a line from 0 to 1, with its interval. */
function intervalBar({ value, low, high }: FigureView): Markup {
  if (value === null) return noMarkup;
  const at = (rate: number): string => (4 + 112 * Math.min(1, Math.max(0, rate))).toFixed(1);
  const range =
    low === null || high === null
      ? noMarkup
      : markup`<line class="range" x1="${at(low)}" x2="${at(high)}" y1="6" y2="6"/>`;
  return joinMarkup([
    markup`<svg class="interval" viewBox="0 0 120 12" aria-hidden="true"><line x1="4" x2="116" y1="6" y2="6"/>`,
    markup`${range}<circle cx="${at(value)}" cy="6" r="3.5"/></svg>`,
  ]);
}

const table = (head: readonly string[], rows: readonly Markup[]): Markup =>
  markup`<div class="panel scroll"><table><thead><tr>${head.map(
    (name) => markup`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div>`;

const figureCell = (text: string): Markup => markup`<td class="figure">${text}</td>`;

const tableRow = (name: string, cells: readonly Markup[], kind = ''): Markup =>
  markup`<tr class="${kind}"><th scope="row">${name}</th>${cells}</tr>`;

/** Every figure with its interval; those over several suites first. */
export function scoreSection({ aggregates, suites }: EvaluationView): Markup {
  const figures = [...aggregates, ...suites.flatMap((suite) => suite.figures)];
  if (figures.length === 0) return markup`<p class="quiet">No suite was evaluated.</p>`;
  return joinMarkup([
    markup`<p class="lead">Shares in percent with their 95 % intervals: Wilson’s for rates, bootstrapped over cases for
means. Figures over several suites have none.</p>`,
    table(['score', '%', '95 % interval', '', 'of', 'note'], figures.map(figureRow)),
  ]);
}

const figureRow = (figure: FigureView): Markup =>
  tableRow(figure.name, [
    figureCell(percent(figure.value)),
    figureCell(intervalText(figure.low, figure.high)),
    markup`<td>${intervalBar(figure)}</td>`,
    figureCell(formatCount(figure.total)),
    markup`<td class="meaning">${figure.note ?? ''}</td>`,
  ]);

const SHOWN_REASONS = 3;

/** Each suite: how many cases are right, and why the others are not. */
export function categorySection({ suites }: EvaluationView): Markup {
  const evaluated = suites.filter(({ skipped }) => skipped === null);
  const left = suites.filter(({ skipped }) => skipped !== null);
  return joinMarkup([
    evaluated.length === 0
      ? noMarkup
      : table(
          ['suite', 'right', '%', '95 % interval', 'why not', 'cut off', 'too long', 'converted', 'tokens'],
          evaluated.map(suiteRow),
        ),
    left.length === 0
      ? noMarkup
      : markup`<h3>Not evaluated</h3><ul>${left.map(
          ({ name, skipped }) => markup`<li><b>${name}</b>: ${skipped ?? ''}</li>`,
        )}</ul>`,
  ]);
}

function suiteRow({ name, correct, reasons, cutOff, tooLong, converted, tokens }: SuiteView): Markup {
  const { value, low, high, total } = correct!;
  const shown = reasons
    .slice(0, SHOWN_REASONS)
    .map(({ reason, cases }) => `${reason} (${formatCount(cases)})`);
  const more = reasons.length - shown.length;
  const why = [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  const right = value === null ? '–' : `${formatCount(Math.round(value * total))} of ${formatCount(total)}`;
  return tableRow(name, [
    figureCell(right),
    figureCell(percent(value)),
    figureCell(intervalText(low, high)),
    markup`<td class="meaning">${why}</td>`,
    ...[cutOff, tooLong, converted, tokens].map((count) => figureCell(formatCount(count))),
  ]);
}

const decimal = (share: number | null): string => (share === null ? '–' : share.toFixed(1));

/** The paper's table with the evaluation as its last row. */
export function paperSection({ paper: { benchmarks, rows, taken } }: EvaluationView): Markup {
  const row = ({ model, group, percents, mean }: PaperRowView): Markup =>
    tableRow(
      model,
      [...percents, mean].map((share) => figureCell(decimal(share))),
      group,
    );
  const own =
    taken.length === 0
      ? 'This evaluation has none of the figures that the paper seems to report, so its row is empty.'
      : `This evaluation’s row takes ${taken.join(', ')}; the mean is there if all five are.`;
  return joinMarkup([
    markup`<p class="lead">Table 1 of GenEnv’s paper (arXiv 2512.19682), in percent, and this evaluation. The paper does
not say which rates it takes; ours are what it seems to report (docs/benchmarks.md).</p>`,
    table(['model', ...benchmarks, 'mean of the five'], rows.map(row)),
    markup`<p class="quiet">${own}</p>`,
  ]);
}

/** What the answers follow from. */
export const settingsSection = ({ policy, settings, judged }: EvaluationView): Markup =>
  markup`<div class="panel"><dl>${[
    ['policy', policy] as const,
    ...settings,
    ['judged', judged === 1 ? 'once' : `${formatCount(judged)} times`] as const,
  ].map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl></div>`;
