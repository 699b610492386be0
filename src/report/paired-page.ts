import type { PairedSuiteView, PairedView } from '../evaluation/paired-view.ts';
import { caseBrowser, fitCases } from './case-browser.ts';
import type { ShownCase } from './case-browser.ts';
import { document } from './document.ts';
import type { Assets } from './document.ts';
import { formatCount } from './format.ts';
import { shownAnswer } from './evaluation-page.ts';
import { markup } from './markup.ts';
import type { Markup } from './markup.ts';

/** The page of two evaluations case by case: nothing in it is loaded from elsewhere. */
export function pairedPage(view: PairedView, assets: Assets): string {
  const { first, second } = view;
  const { cases, cut } = fitCases(view.cases.map((pair) => pairedCase(pair, view)));
  return document({
    title: `${first} and ${second} · GenEnv evaluations`,
    header: markup`<p class="eyebrow">GenEnv evaluations, case by case</p>
<h1>${first} and ${second}</h1>
<p class="quiet">${formatCount(view.cases.length)} cases that both have, judged by the same rules</p>`,
    sections: [
      { id: 'suites', short: 'Suites', title: 'Suites', body: suiteTable(view) },
      { id: 'cases', short: 'Cases', title: 'Cases', body: caseBrowser(cases, cut) },
    ],
    footer: 'Written by genenv, from results.json and cases.jsonl of both alone.',
    withoutScripts: 'The browser of cases needs JavaScript; the table does not.',
    data: { cases },
    assets,
  });
}

function pairedCase(pair: PairedView['cases'][number], { first, second }: PairedView): ShownCase {
  const { suite, id, question, gold } = pair.first;
  return {
    suite,
    id,
    ...pairOutcome(pair.first.correct, pair.second.correct, { first, second }),
    question: question ?? pair.second.question ?? '',
    gold: gold ?? pair.second.gold ?? '',
    answers: [shownAnswer(pair.first, first), shownAnswer(pair.second, second)],
  };
}

function pairOutcome(
  isFirstRight: boolean,
  isSecondRight: boolean,
  { first, second }: Pick<PairedView, 'first' | 'second'>,
): Pick<ShownCase, 'outcome' | 'tone'> {
  if (isFirstRight && isSecondRight) return { outcome: 'both right', tone: 'good' };
  if (isFirstRight) return { outcome: `only ${first} right`, tone: 'warn' };
  if (isSecondRight) return { outcome: `only ${second} right`, tone: 'warn' };
  return { outcome: 'both wrong', tone: 'bad' };
}

const points = (share: number): string => (100 * share).toFixed(2).replace('-', '−');

function suiteTable({ first, second, suites }: PairedView): Markup {
  const head = [
    'suite',
    'cases',
    'both right',
    `only ${first}`,
    `only ${second}`,
    'neither',
    'difference, points',
    '95 % interval',
    'p (McNemar, exact)',
  ];
  const row = ({ suite, cases, counts, difference, p }: PairedSuiteView): Markup => {
    const { both, onlyFirst, onlySecond, neither } = counts;
    const figures = [
      ...[cases, both, onlyFirst, onlySecond, neither].map(formatCount),
      points(difference.mean),
      `${points(difference.low)} to ${points(difference.high)}`,
      p.toPrecision(3),
    ];
    const cells = figures.map((figure) => markup`<td class="figure">${figure}</td>`);
    return markup`<tr><th scope="row">${suite}</th>${cells}</tr>`;
  };
  const columns = head.map((name) => markup`<th scope="col">${name}</th>`);
  return markup`<p class="lead">The difference is the accuracy of ${first} minus that of ${second}, on the cases that
both have.</p>
<div class="panel scroll"><table><thead><tr>${columns}</tr></thead><tbody>${suites.map(row)}</tbody></table></div>`;
}
