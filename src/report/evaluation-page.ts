import type { EvaluationView } from '../evaluation/evaluation-view.ts';
import type { PairedView } from '../evaluation/paired-view.ts';
import { pairedCases, shownCase } from '../evaluation/shown-case.ts';
import { htmlPage, plainAssets } from './document.ts';
import { fitCases } from './fit-cases.ts';
import type { FittingCases } from './fit-cases.ts';
import { markup } from './markup.ts';

/** What the page of an evaluation holds: the cases are beside its view. */
export interface EvaluationPageData extends FittingCases {
  view: EvaluationView;
  /** Cases of the evaluation, of which some may be left out, and those that are right. */
  total: number;
  correct: number;
}

/** What the page of two evaluations holds. */
export interface PairedPageData extends FittingCases {
  view: PairedView;
  /** Cases that both have, of which some may be left out. */
  total: number;
}

/** The page of an evaluation: nothing in it is loaded from elsewhere, and equal answers give equal bytes. */
export async function evaluationPage(view: EvaluationView): Promise<string> {
  const evaluation: EvaluationPageData = {
    view: { ...view, cases: [] },
    total: view.cases.length,
    correct: view.cases.filter(({ correct }) => correct).length,
    ...fitCases(view.cases.map(shownCase)),
  };
  return page(`${view.id} · GenEnv evaluation`, 'evaluation.tsx', { evaluation });
}

/** The page of two evaluations case by case. */
export async function pairedPage(view: PairedView): Promise<string> {
  const pair: PairedPageData = {
    view: { ...view, cases: [] },
    total: view.cases.length,
    ...fitCases(pairedCases(view)),
  };
  return page(`${view.first} and ${view.second} · GenEnv evaluations`, 'evaluation-pair.tsx', { pair });
}

const page = async (title: string, script: string, data: Record<string, unknown>): Promise<string> =>
  htmlPage({
    title,
    body: markup`<div id="page"></div>`,
    withoutScripts: 'This page needs JavaScript; everything that it shows is inside it.',
    data,
    assets: await plainAssets(script),
  });
