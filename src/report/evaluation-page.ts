import type { EvaluationView } from '../evaluation/evaluation-view.ts';
import type { CaseLine } from '../types/evaluation-types.ts';
import { caseBrowser, fitCases } from './case-browser.ts';
import type { ShownAnswer, ShownCase } from './case-browser.ts';
import { document } from './document.ts';
import type { Assets } from './document.ts';
import { formatCount } from './format.ts';
import { categorySection, paperSection, scoreSection, settingsSection } from './evaluation-sections.ts';
import { markup } from './markup.ts';
import type { Markup } from './markup.ts';

/** The page of an evaluation: nothing in it is loaded from elsewhere, and equal answers give equal bytes. */
export function evaluationPage(view: EvaluationView, assets: Assets): string {
  const { cases, cut } = fitCases(view.cases.map(shownCase));
  return document({
    title: `${view.id} · GenEnv evaluation`,
    header: markup`<p class="eyebrow">GenEnv evaluation</p>
<h1>${view.id}</h1>
<p class="quiet">${view.policy} · ${verdictCounts(view)}</p>${unreadableNote(view.unreadable)}`,
    sections: [
      { id: 'scores', short: 'Scores', title: 'Scores', body: scoreSection(view) },
      { id: 'categories', short: 'Categories', title: 'Categories', body: categorySection(view) },
      { id: 'paper', short: 'Paper', title: 'Beside the paper', body: paperSection(view) },
      { id: 'cases', short: 'Cases', title: 'Cases', body: caseBrowser(cases, cut) },
      { id: 'settings', short: 'Settings', title: 'How it was asked', body: settingsSection(view) },
    ],
    footer: 'Written by genenv, from results.json and cases.jsonl alone.',
    withoutScripts: 'The browser of cases needs JavaScript; the tables do not.',
    data: { cases },
    assets,
  });
}

function verdictCounts({ cases }: EvaluationView): string {
  const right = cases.filter(({ correct }) => correct).length;
  return `${formatCount(right)} of ${formatCount(cases.length)} cases are right`;
}

const MAX_NAMED_LINES = 5;

/** Which lines of `cases.jsonl` are no cases. */
export function unreadableNote(lines: readonly number[]): Markup {
  if (lines.length === 0) return markup``;
  const named = lines.slice(0, MAX_NAMED_LINES).join(', ');
  const more =
    lines.length > MAX_NAMED_LINES ? ` and ${formatCount(lines.length - MAX_NAMED_LINES)} more` : '';
  return markup`<p class="note warn">Lines of cases.jsonl that are no cases are left out: ${named}${more}.</p>`;
}

const shownCase = (line: CaseLine): ShownCase => ({
  suite: line.suite,
  id: line.id,
  outcome: line.correct ? 'right' : 'wrong',
  tone: line.correct ? 'good' : 'bad',
  question: line.question ?? '',
  gold: line.gold ?? '',
  answers: [shownAnswer(line, 'The answer')],
});

/** @param title whose answer it is */
export function shownAnswer(line: CaseLine, title: string): ShownAnswer {
  const { correct, reason, converted, scores, answer } = line;
  return {
    title,
    correct,
    reason: reason ?? '',
    converted: converted === true,
    scores: Object.entries(scores).map(([name, value]) => [
      name,
      value === null ? '–' : String(Number(value.toFixed(3))),
    ]),
    text: answer ?? '',
  };
}
