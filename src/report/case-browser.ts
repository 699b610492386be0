import { formatCount } from './format.ts';
import { markup } from './markup.ts';
import type { Markup } from './markup.ts';
import { spreadSample } from './samples.ts';

/** An answer to a case. */
export interface ShownAnswer {
  /** Whose it is. */
  title: string;
  correct: boolean;
  /** Why it is wrong; empty if it is not. */
  reason: string;
  converted: boolean;
  scores: [name: string, value: string][];
  text: string;
}

/** A case with the answer of one evaluation, or of two. */
export interface ShownCase {
  suite: string;
  id: string;
  /** What the filter calls it, such as `wrong`. */
  outcome: string;
  tone: 'good' | 'bad' | 'warn' | 'plain';
  question: string;
  gold: string;
  answers: ShownAnswer[];
}

/** Bytes of cases in a page, which a browser opens in a second or two. */
const BUDGET_BYTES = 20_000_000;
/** Longest text that is shown whole, tried in turn until all cases fit. */
const textLimits = [Infinity, 1000, 300, 100];

/** The cases that fit in a page, and what a reader is told if something was cut; null if nothing was. */
export function fitCases(
  cases: readonly ShownCase[],
  budget = BUDGET_BYTES,
): { cases: ShownCase[]; cut: string | null } {
  const size = (shown: readonly ShownCase[]): number =>
    shown.reduce((total, item) => total + Buffer.byteLength(JSON.stringify(item)), 0);
  for (const limit of textLimits) {
    const clipped = cases.map((item) => clipCase(item, limit));
    if (size(clipped) > budget) continue;
    if (limit === Infinity) return { cases: clipped, cut: null };
    return {
      cases: clipped,
      cut: `Texts are cut to ${formatCount(limit)} characters to fit in the page; cases.jsonl has more of them.`,
    };
  }
  const clipped = cases.map((item) => clipCase(item, textLimits.at(-1)!));
  const share = budget / size(clipped);
  const kept = spreadSample(clipped, Math.max(1, Math.floor(0.8 * share * clipped.length)));
  return {
    cases: kept,
    cut:
      `Only ${formatCount(kept.length)} of ${formatCount(cases.length)} cases fit in the page, evenly chosen, with texts ` +
      `cut to ${textLimits.at(-1)} characters; cases.jsonl has all.`,
  };
}

function clipCase(shown: ShownCase, limit: number): ShownCase {
  if (limit === Infinity) return shown;
  const clip = (text: string): string =>
    text.length <= limit
      ? text
      : `${text.slice(0, limit).toWellFormed()}… (${text.length - limit} more characters)`;
  return {
    ...shown,
    question: clip(shown.question),
    gold: clip(shown.gold),
    answers: shown.answers.map((answer) => ({
      ...answer,
      text: clip(answer.text),
      reason: clip(answer.reason),
    })),
  };
}

/**
 * The frame of the browser of cases, which client/cases.js fills with the data `cases`, a page at a time.
 * @param cut what was left out
 */
export function caseBrowser(cases: readonly ShownCase[], cut: string | null): Markup {
  if (cases.length === 0) return markup`<p class="quiet">There are no cases to show.</p>`;
  const unique = (values: readonly string[]): string[] =>
    [...new Set(values)].filter((value) => value !== '').sort();
  const reasons = cases.flatMap(({ answers }) => answers.map(({ reason }) => reason));
  return markup`${cut === null ? [] : [markup`<p class="note warn" id="cut">${cut}</p>`]}
<form class="panel filters" id="case-filters" autocomplete="off">
<label>Suite ${select('suite', unique(cases.map(({ suite }) => suite)))}</label>
<label>Verdict ${select('outcome', unique(cases.map(({ outcome }) => outcome)))}</label>
<label>Reason ${select('reason', unique(reasons).slice(0, MAX_REASONS))}</label>
<label class="grow">Text <input name="text" type="search" placeholder="in ids, questions, answers and keys"></label>
<button type="reset">Reset</button>
</form>
<p class="pages"><button type="button" id="previous-cases" aria-label="previous cases">‹</button>
<span class="quiet" id="case-count" aria-live="polite"></span>
<button type="button" id="next-cases" aria-label="next cases">›</button></p>
<div id="case-list"></div>`;
}

/** Reasons to choose from: some suites word them freely. */
const MAX_REASONS = 200;

const select = (name: string, values: readonly string[]): Markup =>
  markup`<select name="${name}"><option value="">all</option>${values.map(
    (value) => markup`<option value="${value}">${value}</option>`,
  )}</select>`;
