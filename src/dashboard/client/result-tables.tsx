/** The comparisons and evaluations of the overview. */
import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import type { HomeView } from '../api.ts';
import { ProgressBar } from './parts.tsx';
import { linkTo } from './router.ts';

export function Comparisons({ home: { comparisons, runs } }: { home: HomeView }) {
  if (comparisons.length === 0) return null;
  const rows = comparisons.map((comparison) => {
    const own = runs.filter(({ id }) => id.startsWith(`${comparison.id}.`));
    return {
      ...comparison,
      all: comparison.arms * comparison.seeds,
      done: own.filter(({ epoch, epochs }) => epochs > 0 && epoch >= epochs).length,
      active: own.filter(({ isActive }) => isActive).length,
    };
  });
  return (
    <section>
      <h2>Comparisons</h2>
      <DataTable label="Comparisons" columns={comparisonColumns} rows={rows} rowKey={({ id }) => id} />
    </section>
  );
}

export const Evaluations = ({ evaluations }: Pick<HomeView, 'evaluations'>) =>
  evaluations.length === 0 ? null : (
    <section>
      <h2>Evaluations</h2>
      <DataTable label="Evaluations" columns={evaluationColumns} rows={evaluations} />
    </section>
  );

const doneText = (isDone: boolean): string => (isDone ? 'done' : 'under way, or interrupted');

interface ComparisonRow {
  id: string;
  arms: number;
  seeds: number;
  isSummarized: boolean;
  all: number;
  done: number;
  active: number;
}

const comparisonColumns: readonly Column<ComparisonRow>[] = [
  {
    name: 'Comparison',
    kind: 'heading',
    cell: ({ id }) => <a href={linkTo(['comparisons', id])}>{id}</a>,
  },
  {
    name: 'Runs done',
    kind: 'figure',
    cell: ({ id, done, all }) => (
      <>
        {done} of {all} <ProgressBar done={done} all={all} label={`runs of ${id}`} />
      </>
    ),
  },
  { name: 'Arms', kind: 'figure', cell: ({ arms }) => arms },
  { name: 'Seeds', kind: 'figure', cell: ({ seeds }) => seeds },
  { name: 'State', cell: comparisonState },
];

function comparisonState({ active, isSummarized }: ComparisonRow): string {
  if (active > 0) return `${active} under way`;
  return isSummarized ? 'done' : 'interrupted';
}

const evaluationColumns: readonly Column<HomeView['evaluations'][number]>[] = [
  {
    name: 'Evaluation',
    kind: 'heading',
    cell: ({ id }) => <a href={linkTo(['evaluations', id])}>{id}</a>,
  },
  { name: 'State', cell: ({ hasEnded }) => doneText(hasEnded) },
  {
    name: 'Scores',
    cell: ({ scores }) => scores.map(({ name, value }) => `${name} ${value.toFixed(3)}`).join(', '),
  },
];
