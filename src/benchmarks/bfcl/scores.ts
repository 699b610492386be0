import { rateScore } from '../score.ts';
import type { CaseVerdict, Score } from '../suite.ts';
import type { CategoryName } from './categories.ts';
import { accuracyName, suiteName } from './categories.ts';

type Verdicts = readonly { id: string; verdict: CaseVerdict }[];

/** What a verdict keeps beside its scores. */
export interface Detail {
  error: string | null;
  converted: boolean;
}

/** The category's accuracy, as the official evaluation counts it. */
export function accuracy(category: CategoryName, toolFormat: string, verdicts: Verdicts): Score[] {
  const converted = verdicts.filter(({ verdict }) => (verdict.detail as Detail).converted).length;
  const note =
    converted === 0
      ? undefined
      : `${converted} answers in <tool_call> or fenced code were converted, which the official decoder would have refused`;
  return [rateScore(accuracyName(category, toolFormat), correct(verdicts), verdicts.length, note)];
}

/** Turns that were right, out of all turns. */
export function turnSuccess(category: CategoryName, toolFormat: string, verdicts: Verdicts): Score[] {
  const turns = verdicts.flatMap(({ verdict }) => verdict.detail as boolean[]);
  const note =
    "each turn on its own, after the truth of the turns before it; what GenEnv's paper seems to report as BFCL; easier than the official rule, and turns of a case are not independent";
  return [
    rateScore(
      `${suiteName(category)}_turn_success_gold_history_${toolFormat}`,
      turns.filter(Boolean).length,
      turns.length,
      note,
    ),
  ];
}

const correct = (verdicts: Verdicts): number => verdicts.filter(({ verdict }) => verdict.correct).length;
