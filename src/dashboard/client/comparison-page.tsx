import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { formatDuration } from '../../report/format.ts';
import type { ArmRunLine, ComparisonPage as ComparisonPageData } from '../api.ts';
import { MAX_COMPARED } from '../limits.ts';
import { Problem, ProgressBar, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { linkTo } from './router.ts';
import { useSelection } from './selection-column.tsx';

type Arm = ComparisonPageData['arms'][number];
type Summary = NonNullable<ComparisonPageData['summary']>;

/** A comparison: how far its runs are, what was asked beforehand, and its claims. */
export function ComparisonPage({ id }: { id: string }) {
  const resource = useResource<ComparisonPageData>(`/api/comparisons/${encodeURIComponent(id)}`);
  const { value: page, problem, reload } = resource;
  useServerEvents((event) => {
    const own = page?.arms.flatMap(({ runs }) => runs) ?? [];
    const isConcerned =
      event === 'tick'
        ? own.some((run) => run.mayChange)
        : event.comparisons.includes(id) || own.some((run) => event.runs.includes(run.id));
    if (isConcerned) reload();
  });
  if (page === null) return <Unread resource={resource} />;
  const { summary, arms, seeds, secondsLeft, hasReport } = page;
  const runs = arms.flatMap((arm) => arm.runs);
  const finished = runs.filter(({ isFinished }) => isFinished).length;
  return (
    <>
      <p class="eyebrow">Comparison</p>
      <h1>{id}</h1>
      <Problem text={problem} />
      <p>
        {arms.length} arms under {seeds.length} seeds: {finished} of {runs.length} runs done{' '}
        <ProgressBar done={finished} all={runs.length} label="runs" />
        {secondsLeft !== null && (
          <>
            {' '}
            <span id="time-left">About {formatDuration(secondsLeft)} left</span>
          </>
        )}
        {hasReport && (
          <>
            {' '}
            <a href={`/reports/comparisons/${encodeURIComponent(id)}`} target="_blank" rel="noreferrer">
              its report with all figures
            </a>
          </>
        )}
      </p>
      {summary !== null && <Primary summary={summary} />}
      <h2>Runs</h2>
      <ArmTable arms={arms} />
      {summary === null ? (
        <p class="quiet">Its tests and claims follow when all runs are done and measured.</p>
      ) : (
        <Claims summary={summary} />
      )}
    </>
  );
}

const Primary = ({ summary: { primary } }: { summary: Summary }) => (
  <>
    <h2>What was asked beforehand</h2>
    <DataTable label="Primary comparisons" columns={primaryColumns} rows={primary} />
  </>
);

const primaryColumns: readonly Column<Summary['primary'][number]>[] = [
  { name: 'Arm', kind: 'heading', cell: ({ arm }) => arm },
  { name: 'Against', cell: ({ against }) => against },
  { name: 'Verdict', cell: ({ verdict }) => verdict },
  { name: 'Difference', kind: 'figure', cell: ({ difference }) => difference },
  { name: 'p, exact', kind: 'figure', cell: ({ p }) => p },
  { name: 'Figure', cell: ({ measure }) => measure },
];

const Claims = ({ summary: { claims, notes } }: { summary: Summary }) => (
  <>
    <h2>Claims</h2>
    {claims.map(({ arm, rows }) => (
      <DataTable
        key={arm}
        label={`Claims of ${arm}`}
        title={`Judged by the arm ${arm}`}
        columns={claimColumns}
        rows={rows}
      />
    ))}
    {notes.length > 0 && (
      <details class="panel">
        <summary>In what its arms differ besides the curriculum ({notes.length})</summary>
        <ul>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </details>
    )}
  </>
);

const claimColumns: readonly Column<Summary['claims'][number]['rows'][number]>[] = [
  { name: 'Claim', kind: 'claim', cell: ({ claim }) => claim },
  { name: 'Verdict', cell: ({ verdict }) => <b>{verdict}</b> },
  { name: 'Here', cell: ({ ours }) => ours },
  { name: 'Paper', cell: ({ paper }) => paper },
];

/** The arms with their runs; those that are selected are drawn over each other, each as a mean with its interval. */
function ArmTable({ arms }: { arms: readonly Arm[] }) {
  const { selected, selectionColumn } = useSelection<Arm>('choose', ({ arm }) => arm);
  const compared = selected.length > 0 ? arms.filter(({ arm }) => selected.includes(arm)) : arms;
  return (
    <>
      <p>
        <a href={compareLink(compared)}>{compareText(selected.length, arms.length)}</a>
      </p>
      <DataTable label="Runs by arm" columns={[selectionColumn, ...armColumns]} rows={arms} />
    </>
  );
}

/** What the link to arms over each other says. */
function compareText(selected: number, all: number): string {
  if (selected > 0) return selected === 1 ? 'Show one arm' : `Compare ${selected} arms`;
  return all > MAX_COMPARED ? `Compare the first ${MAX_COMPARED} arms` : 'Compare all arms';
}

/** Of many arms under many seeds, the first seeds of each. */
function compareLink(arms: readonly Arm[]): string {
  const seeds = Math.max(1, Math.floor(MAX_COMPARED / arms.length));
  const runs = arms.flatMap((arm) => arm.runs.filter(hasStarted).slice(0, seeds));
  return linkTo(['compare'], {
    runs: runs
      .slice(0, MAX_COMPARED)
      .map(({ id }) => id)
      .join(','),
    by: 'arm',
  });
}

const hasStarted = ({ state }: ArmRunLine): boolean => state !== 'not started';

const armColumns: readonly Column<Arm>[] = [
  {
    name: 'Arm',
    kind: 'heading',
    cell: (arm) => (arm.runs.some(hasStarted) ? <a href={compareLink([arm])}>{arm.arm}</a> : arm.arm),
  },
  {
    name: 'Done',
    kind: 'figure',
    cell: ({ runs }) => `${runs.filter(({ isFinished }) => isFinished).length} of ${runs.length}`,
  },
  { name: 'Runs by seed', cell: ({ runs }) => runs.map((run) => <SeedLink key={run.id} run={run} />) },
];

const SeedLink = ({ run }: { run: ArmRunLine }) => (
  <>
    {hasStarted(run) ? (
      <a href={linkTo(['runs', run.id])} title={run.state}>
        {run.seed}
      </a>
    ) : (
      <span class="quiet" title={run.state}>
        {run.seed}
      </span>
    )}
    {hasStarted(run) && !run.isFinished && (
      <small>
        {' '}
        {run.state}, epoch {run.epoch} of {run.epochs}
      </small>
    )}{' '}
  </>
);
