import type { ShownCase } from '../evaluation/shown-case.ts';
import { cutText } from '../formats/plain-text.ts';
import { formatCount } from './format.ts';
import { spreadSample } from './samples.ts';

/** Bytes of cases in a page, which a browser opens in a second or two. */
const BUDGET_BYTES = 20_000_000;
/** Longest text that is shown whole, tried in turn until all cases fit. */
const textLimits = [Infinity, 1000, 300, 100];

/** The cases of a page. */
export interface FittingCases {
  cases: ShownCase[];
  /** What a reader is told if something was cut; null if nothing was. */
  cut: string | null;
}

/** The cases that fit in a page. */
export function fitCases(cases: readonly ShownCase[], budget = BUDGET_BYTES): FittingCases {
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
    text.length <= limit ? text : `${cutText(text, limit)}… (${text.length - limit} more characters)`;
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
