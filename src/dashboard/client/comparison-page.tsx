import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import type { ComparisonPage as ComparisonPageData } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource } from './resource.ts';
import { linkTo } from './router.ts';

/** A comparison: what was asked beforehand, its claims, and its runs. */
export function ComparisonPage({ id }: { id: string }) {
  const resource = useResource<ComparisonPageData>(`/api/comparisons/${encodeURIComponent(id)}`);
  const { value: page, problem } = resource;
  if (page === null) return <Unread resource={resource} />;
  const { summary, arms, seeds, hasReport } = page;
  return (
    <>
      <p class="eyebrow">Comparison</p>
      <h1>{id}</h1>
      <Problem text={problem} />
      <p>
        {arms.length} arms under {seeds.length} seeds
        {hasReport && (
          <>
            ; <a href={`/reports/comparisons/${encodeURIComponent(id)}`}>its report with all figures</a>
          </>
        )}
      </p>
      {summary === null ? (
        <p class="quiet">It has no results yet.</p>
      ) : (
        <>
          {summary.notes.map((note) => (
            <p key={note} class="note warn">
              {note}
            </p>
          ))}
          <h2>What was asked beforehand</h2>
          <DataTable label="Primary comparisons" columns={primaryColumns} rows={summary.primary} />
          <h2>Claims</h2>
          {summary.claims.map(({ arm, rows }) => (
            <DataTable key={arm} label={`Claims of ${arm}`} title={arm} columns={claimColumns} rows={rows} />
          ))}
        </>
      )}
      <h2>Runs</h2>
      <DataTable label="Runs by arm" columns={armColumns} rows={arms} />
    </>
  );
}

type Summary = NonNullable<ComparisonPageData['summary']>;

const primaryColumns: readonly Column<Summary['primary'][number]>[] = [
  { name: 'Arm', kind: 'heading', cell: ({ arm }) => arm },
  { name: 'Against', cell: ({ against }) => against },
  { name: 'Figure', cell: ({ measure }) => measure },
  { name: 'Difference', kind: 'figure', cell: ({ difference }) => difference },
  { name: 'p, exact', kind: 'figure', cell: ({ p }) => p },
  { name: 'Verdict', cell: ({ verdict }) => verdict },
];

const claimColumns: readonly Column<Summary['claims'][number]['rows'][number]>[] = [
  { name: 'Claim', kind: 'heading', cell: ({ claim }) => claim },
  { name: 'Paper', cell: ({ paper }) => paper },
  { name: 'Here', cell: ({ ours }) => ours },
  { name: 'Verdict', cell: ({ verdict }) => verdict },
];

const MAX_COMPARED = 24;

const armColumns: readonly Column<ComparisonPageData['arms'][number]>[] = [
  {
    name: 'Arm',
    kind: 'heading',
    cell: ({ arm, runs }) => (
      <a href={linkTo(['compare'], { runs: runs.slice(0, MAX_COMPARED).join(',') })}>{arm}</a>
    ),
  },
  {
    name: 'Runs',
    cell: ({ runs }) =>
      runs.map((run) => (
        <span key={run}>
          <a href={linkTo(['runs', run])}>{run.split('.').at(-1)}</a>{' '}
        </span>
      )),
  },
];
