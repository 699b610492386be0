import { mean } from '../coevolution/domain.ts';
import { measured } from '../report/run-data.ts';
import { WINDOW } from '../report/statistics.ts';
import { valueText } from './estimate-text.ts';
import type { ArmSummary } from './arm-summary.ts';
import type { Summary } from './summary.ts';

/** A claim of the paper (arXiv 2512.19682), its figure, and ours for each arm of the method. */
export interface PaperRow {
  claim: string;
  paper: string;
  ours: Record<string, string>;
}

const signed = (share: number | null): string =>
  share === null ? '–' : `${share > 0 ? '+' : ''}${(100 * share).toFixed(1)} %`.replace('-', '−');
const first = (values: readonly (number | null)[]): number | null => measured(values)[0] ?? null;
const last = (values: readonly (number | null)[]): number | null => mean(measured(values).slice(-WINDOW));
const change = (from: number | null, to: number | null): number | null =>
  from === null || to === null || from === 0 ? null : to / from - 1;
const less = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one - other;

/** What can be set beside the paper's own figures. Its models and benchmarks are others: directions are comparable, sizes are not. */
export function paperRows({ arms }: Summary): PaperRow[] {
  const fixed = arms.find(({ type }) => type === 'static');
  const of = (text: (arm: ArmSummary) => string): Record<string, string> =>
    Object.fromEntries(arms.filter(({ type }) => type === 'genenv').map((arm) => [arm.arm, text(arm)]));
  const random = (of: ArmSummary) => arms.find(({ arm }) => arm === of.control);
  const against = (
    find: (of: ArmSummary) => ArmSummary | undefined,
    figure: 'finalHeldOut' | 'unsolvedEnd' | 'solvedEnd',
    how: typeof change,
  ) =>
    of((arm) => {
      const other = find(arm);
      return other === undefined
        ? '–'
        : signed(how(other.figures[figure]?.mean ?? null, arm.figures[figure]?.mean ?? null));
    });
  return [
    {
      claim: 'success on simulated tasks, first epoch to the end (figures 4d, 5c, 7)',
      paper: '0.138 to 0.524',
      ours: of(
        ({ courses }) => `${valueText(first(courses.success))} to ${valueText(last(courses.success))}`,
      ),
    },
    {
      claim: 'tokens of an answer, first epoch to the end (figure 5b); ours: correct answers only',
      paper: '137 to 204 (+49 %)',
      ours: of(
        ({ courses: { correctLength } }) =>
          `${valueText(first(correctLength), 'number')} to ${valueText(last(correctLength), 'number')} (${signed(change(first(correctLength), last(correctLength)))})`,
      ),
    },
    {
      claim: 'final score against Random (with the same agent), relative (figure 6)',
      paper: '+12.3 %',
      ours: against(random, 'finalHeldOut', change),
    },
    {
      claim: 'final score against Static, relative (figure 6)',
      paper: '+6.0 %',
      ours: against(() => fixed, 'finalHeldOut', change),
    },
    {
      claim: 'tasks never solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '−20.3 %',
      ours: against(random, 'unsolvedEnd', (other, own) => less(own, other)),
    },
    {
      claim: 'tasks always solved against Random (with the same agent), points (figure 8); ours: last third',
      paper: '+3.5 %',
      ours: against(random, 'solvedEnd', (other, own) => less(own, other)),
    },
  ];
}
