import { mean } from '../numerics/arithmetic.ts';
import { WINDOW } from '../report/findings.ts';
import { measuredValues } from '../report/run-data.ts';
import type { ArmSummary } from './arm-summary.ts';
import { valueText } from './seed-estimates.ts';
import type { Summary } from './summary.ts';

/** A claim of the paper (arXiv 2512.19682), its figure, and ours for each arm of the method. */
export interface PaperRow {
  claim: string;
  paper: string;
  ours: Record<string, string>;
}

const percentText = (share: number | null): string =>
  share === null ? '–' : `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`.replace('-', '−');
const firstMeasured = (values: readonly (number | null)[]): number | null =>
  measuredValues(values)[0] ?? null;
const endMean = (values: readonly (number | null)[]): number | null =>
  mean(measuredValues(values).slice(-WINDOW));
const relativeChange = (from: number | null, to: number | null): number | null =>
  from === null || to === null || from === 0 ? null : to / from - 1;
const pointChange = (from: number | null, to: number | null): number | null =>
  from === null || to === null ? null : to - from;

/**
 * Our figures for the paper's own claims. Its models and benchmarks differ from ours: directions are
 * comparable, sizes are not.
 */
export function paperRows({ arms }: Summary): PaperRow[] {
  const fixed = arms.find(({ type }) => type === 'static');
  const eachArm = (text: (arm: ArmSummary) => string): Record<string, string> =>
    Object.fromEntries(arms.filter(({ type }) => type === 'genenv').map((arm) => [arm.arm, text(arm)]));
  const random = (judged: ArmSummary) => arms.find(({ arm }) => arm === judged.control);
  const against = (
    findReference: (arm: ArmSummary) => ArmSummary | undefined,
    metric: 'finalHeldOut' | 'unsolvedEnd' | 'solvedEnd',
    change: typeof relativeChange,
  ) =>
    eachArm((arm) => {
      const reference = findReference(arm);
      if (reference === undefined) return '–';
      return percentText(change(reference.figures[metric]?.mean ?? null, arm.figures[metric]?.mean ?? null));
    });
  return [
    {
      claim: 'success on simulated tasks, first epoch to the end (figures 4d, 5c, 7); ours: of whole runs',
      paper: '0.138 to 0.524',
      ours: eachArm(({ courses: { success } }) =>
        [firstMeasured(success), endMean(success)].map((rate) => valueText(rate)).join(' to '),
      ),
    },
    {
      claim: 'tokens of an answer, first epoch to the end (figure 5b); ours: correct answers, of whole runs',
      paper: '137 to 204 (+49 %)',
      ours: eachArm(({ courses: { correctLength } }) => {
        const [start, end] = [firstMeasured(correctLength), endMean(correctLength)];
        const change = percentText(relativeChange(start, end));
        return `${valueText(start, 'number')} to ${valueText(end, 'number')} (${change})`;
      }),
    },
    {
      claim: 'final score against Random (with the same agent), relative (figure 6)',
      paper: '+12.3 %',
      ours: against(random, 'finalHeldOut', relativeChange),
    },
    {
      claim: 'final score against Static, relative (figure 6)',
      paper: '+6.0 %',
      ours: against(() => fixed, 'finalHeldOut', relativeChange),
    },
    {
      claim: 'tasks never solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '−20.3 %',
      ours: against(random, 'unsolvedEnd', pointChange),
    },
    {
      claim: 'tasks always solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '+3.5 %',
      ours: against(random, 'solvedEnd', pointChange),
    },
  ];
}
