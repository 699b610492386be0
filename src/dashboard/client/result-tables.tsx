/** The comparisons and evaluations of the overview. */
import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import type { ComparisonLine, HomeView } from '../api.ts';
import { ProgressBar } from './parts.tsx';
import { linkTo } from './router.ts';

export function Comparisons({ home: { comparisons, runs } }: { home: HomeView }) {
  if (comparisons.length === 0) return null;
  const rows = comparisons.map((comparison) => {
    const own = runs.filter((run) => run.comparison === comparison.id);
    return {
      ...comparison,
      all: comparison.arms * comparison.seeds,
      done: own.filter(({ isFinished }) => isFinished).length,
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

interface ComparisonRow extends ComparisonLine {
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

function comparisonState({ active, isSummarized, done, all }: ComparisonRow): string {
  if (isSummarized) return 'done';
  if (active > 0) return `${active} under way`;
  // Cross-play, probes and the tests follow the last run, and are no runs.
  return done === all ? 'all runs done; measured now, or interrupted' : 'under way, or interrupted';
}

const evaluationColumns: readonly Column<HomeView['evaluations'][number]>[] = [
  {
    name: 'Evaluation',
    kind: 'heading',
    cell: ({ id }) => <a href={linkTo(['evaluations', id])}>{id}</a>,
  },
  { name: 'State', cell: ({ hasEnded }) => (hasEnded ? 'done' : 'under way, or interrupted') },
  {
    name: 'Scores',
    cell: ({ scores }) => scores.map(({ name, value }) => `${name} ${value.toFixed(3)}`).join(', '),
  },
];
