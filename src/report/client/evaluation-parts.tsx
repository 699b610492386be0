/** The tables of an evaluation. */
import type {
  EvaluationView,
  FigureView,
  PaperRowView,
  SuiteView,
} from '../../evaluation/evaluation-view.ts';
import { formatCount, formatFixed } from '../format.ts';
import { DataTable } from './data-table.tsx';
import type { Column } from './data-table.tsx';
import { Facts } from './parts.tsx';

/** In percent, with two decimals. */
export const percent = (rate: number | null): string => formatFixed(rate === null ? null : 100 * rate);

const intervalText = ({ low, high }: Pick<FigureView, 'low' | 'high'>): string =>
  low === null || high === null ? '' : `${percent(low)} to ${percent(high)}`;

/** A rate on a line from 0 to 1, with its interval. */
function IntervalBar({ figure: { value, low, high } }: { figure: FigureView }) {
  if (value === null) return null;
  const at = (rate: number): string => (4 + 112 * Math.min(1, Math.max(0, rate))).toFixed(1);
  return (
    <svg class="interval" viewBox="0 0 120 12" aria-hidden="true">
      <line x1="4" x2="116" y1="6" y2="6" />
      {low !== null && high !== null && <line class="range" x1={at(low)} x2={at(high)} y1="6" y2="6" />}
      <circle cx={at(value)} cy="6" r="3.5" />
    </svg>
  );
}

const scoreColumns: readonly Column<FigureView>[] = [
  { name: 'score', kind: 'heading', cell: ({ name }) => name },
  { name: '%', kind: 'figure', cell: ({ value }) => percent(value) },
  { name: '95 % interval', kind: 'figure', cell: intervalText },
  { name: '0 to 100', cell: (figure) => <IntervalBar figure={figure} /> },
  { name: 'of', kind: 'figure', cell: ({ total }) => formatCount(total) },
  { name: 'note', kind: 'meaning', cell: ({ note }) => note },
];

/** Every figure with its interval; those over several suites first. */
export function Scores({ view: { aggregates, suites } }: { view: EvaluationView }) {
  const figures = [...aggregates, ...suites.flatMap((suite) => suite.figures)];
  if (figures.length === 0) return <p class="quiet">No suite was evaluated.</p>;
  return (
    <>
      <p class="lead">
        Shares in percent with their 95 % intervals: Wilson’s for rates, bootstrapped over cases for means.
        Figures over several suites have none.
      </p>
      <DataTable label="Scores" columns={scoreColumns} rows={figures} />
    </>
  );
}

function reasonsText({ reasons, otherReasons }: SuiteView): string {
  const shown = reasons.map(({ reason, cases }) => `${reason} (${formatCount(cases)})`);
  return [...shown, ...(otherReasons > 0 ? [`${otherReasons} more`] : [])].join(', ');
}

function rightText({ value, total }: FigureView): string {
  return value === null ? '–' : `${formatCount(Math.round(value * total))} of ${formatCount(total)}`;
}

const count = (name: string, counted: (suite: SuiteView) => number): Column<SuiteView> => ({
  name,
  kind: 'figure',
  cell: (suite) => formatCount(counted(suite)),
});

const suiteColumns: readonly Column<SuiteView>[] = [
  { name: 'suite', kind: 'heading', cell: ({ name }) => name },
  { name: 'right', kind: 'figure', cell: ({ correct }) => rightText(correct!) },
  { name: '%', kind: 'figure', cell: ({ correct }) => percent(correct!.value) },
  { name: '95 % interval', kind: 'figure', cell: ({ correct }) => intervalText(correct!) },
  { name: 'why not', kind: 'meaning', cell: reasonsText },
  count('cut off', ({ cutOff }) => cutOff),
  count('too long', ({ tooLong }) => tooLong),
  count('converted', ({ converted }) => converted),
  count('tokens', ({ tokens }) => tokens),
];

/** Each suite: how many cases are right, and why the others are not. */
export function Suites({ view: { suites } }: { view: EvaluationView }) {
  const evaluated = suites.filter(({ skipped }) => skipped === null);
  const skippedSuites = suites.filter(({ skipped }) => skipped !== null);
  return (
    <>
      {evaluated.length > 0 && <DataTable label="Suites" columns={suiteColumns} rows={evaluated} />}
      {skippedSuites.length > 0 && (
        <>
          <h3>Not evaluated</h3>
          <ul>
            {skippedSuites.map(({ name, skipped }) => (
              <li key={name}>
                <b>{name}</b>: {skipped}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

/** The paper's table with the evaluation as its last row. */
export function PaperTable({ paper: { benchmarks, rows, taken } }: { paper: EvaluationView['paper'] }) {
  const columns: Column<PaperRowView>[] = [
    { name: 'model', kind: 'heading', cell: ({ model }) => model },
    ...benchmarks.map((name, index): Column<PaperRowView> => ({
      name,
      kind: 'figure',
      cell: ({ percents }) => formatFixed(percents[index], 1),
    })),
    { name: 'mean of the five', kind: 'figure', cell: ({ mean }) => formatFixed(mean, 1) },
  ];
  return (
    <>
      <p class="lead">
        Table 1 of GenEnv’s paper (arXiv 2512.19682), in percent, and this evaluation. The paper does not say
        which rates it takes; ours are what it seems to report (docs/benchmarks.md).
      </p>
      <DataTable label="Beside the paper" columns={columns} rows={rows} rowClass={({ group }) => group} />
      <p class="quiet">
        {taken.length === 0
          ? 'This evaluation has none of the figures that the paper seems to report, so its row is empty.'
          : `This evaluation’s row takes ${taken.join(', ')}; the mean is there if all five are.`}
      </p>
    </>
  );
}

/** What the answers follow from. */
export const EvaluationSettings = ({ view: { policy, settings, judged } }: { view: EvaluationView }) => (
  <div class="panel">
    <Facts
      facts={[
        ['policy', policy],
        ...settings,
        ['judged', judged === 1 ? 'once' : `${formatCount(judged)} times`],
      ]}
    />
  </div>
);

const MAX_NAMED_LINES = 5;

/** Which lines of `cases.jsonl` are no cases. */
export function UnreadableLines({ lines }: { lines: readonly number[] }) {
  if (lines.length === 0) return null;
  const more = lines.length - MAX_NAMED_LINES;
  return (
    <p class="note warn">
      Lines of cases.jsonl that are no cases are left out: {lines.slice(0, MAX_NAMED_LINES).join(', ')}
      {more > 0 && ` and ${formatCount(more)} more`}.
    </p>
  );
}
