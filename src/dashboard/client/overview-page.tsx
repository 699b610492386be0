import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { Chip } from '../../report/client/parts.tsx';
import { Sparkline } from '../../report/client/run-parts.tsx';
import { formatDuration, formatRate } from '../../report/format.ts';
import type { HomeView, RunLine } from '../api.ts';
import { MAX_COMPARED } from '../limits.ts';
import { Problem, ProgressBar, StatePill, timeText, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { Comparisons, Evaluations } from './result-tables.tsx';
import { go, linkTo, replaceQuery } from './router.ts';
import { useSelection } from './selection-column.tsx';

/** Which runs are listed. */
const listings = {
  own: 'runs of no comparison',
  active: 'runs under way',
  attention: 'runs that need attention',
  all: 'all runs',
} as const;
type Listing = keyof typeof listings;

/** All runs, what each does now, and what needs attention. */
export function OverviewPage({ query }: { query: URLSearchParams }) {
  const resource = useResource<HomeView>('/api/home');
  const { value: home, problem, reload } = resource;
  const { selected, selectionColumn } = useSelection<RunLine>('compare', ({ id }) => id);
  useServerEvents((event) => {
    if (event !== 'tick' || home?.runs.some((run) => run.mayChange) === true) reload();
  });
  if (home === null) return <Unread resource={resource} />;
  const text = query.get('find') ?? '';
  const hasOwn = home.runs.some(({ comparison }) => comparison === null);
  const listing = (query.get('list') ?? (hasOwn && text === '' ? 'own' : 'all')) as Listing;
  const runs = home.runs.filter(
    (run) =>
      (listing !== 'own' || run.comparison === null) &&
      (listing !== 'active' || run.isActive) &&
      (listing !== 'attention' || run.attention.length > 0) &&
      `${run.id} ${run.arm} ${run.attention.join(' ')} ${retriesText(run)}`
        .toLowerCase()
        .includes(text.toLowerCase()),
  );
  const show = (changed: { find?: string; list?: string }) =>
    replaceQuery({ find: text, list: query.get('list') ?? '', ...changed });
  return (
    <>
      <h1>Runs</h1>
      <Problem text={problem} />
      <p class="quiet">{home.home}</p>
      <Comparisons home={home} />
      {home.runs.length === 0 ? (
        <p>
          No runs yet. Start one: <code>npx genenv run experiments/laptop.json</code>
        </p>
      ) : (
        <section>
          {home.comparisons.length > 0 && <h2>Runs</h2>}
          <form class="panel filters sticky" onSubmit={(event) => event.preventDefault()}>
            <label>
              List{' '}
              <select
                name="list"
                value={listing}
                onChange={(event) => show({ list: event.currentTarget.value })}
              >
                {Object.entries(listings).map(([name, label]) => (
                  <option key={name} value={name}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
            <label class="grow">
              Find{' '}
              <input
                type="search"
                name="find"
                value={text}
                placeholder="in ids, arms and what needs attention"
                onInput={(event) => show({ find: event.currentTarget.value })}
              />
            </label>
            <button
              type="button"
              id="compare"
              disabled={selected.length < 2 || selected.length > MAX_COMPARED}
              title={`Select two runs or more, at most ${MAX_COMPARED}`}
              onClick={() => go(['compare'], { runs: selected.join(',') })}
            >
              Compare {selected.length > 0 ? selected.length : 'selected runs'}
            </button>
          </form>
          <p class="quiet" id="run-count" aria-live="polite">
            {runs.length} of {home.runs.length} runs
          </p>
          {runs.length > 0 && (
            <DataTable
              label="Runs"
              class="runs"
              columns={[selectionColumn, ...runColumns]}
              rows={runs}
              rowKey={({ id }) => id}
            />
          )}
        </section>
      )}
      <Evaluations evaluations={home.evaluations} />
    </>
  );
}

const runColumns: readonly Column<RunLine>[] = [
  {
    name: 'Run',
    kind: 'heading',
    cell: ({ id, arm }) => (
      <>
        <a href={linkTo(['runs', id])}>{id}</a>
        <small>{arm}</small>
      </>
    ),
  },
  {
    name: 'State',
    cell: ({ state, phase }) => (
      <>
        <StatePill state={state} />
        {phase !== '' && <small>{phase}</small>}
      </>
    ),
  },
  { name: 'Needs attention', kind: 'attention', cell: (run) => <Attention run={run} /> },
  {
    name: 'Epoch',
    kind: 'figure',
    cell: ({ id, epoch, epochs, secondsLeft }) => (
      <>
        {epoch} of {epochs}
        <ProgressBar done={epoch} all={epochs} label={`epochs of ${id}`} />
        {secondsLeft !== null && <small>{formatDuration(secondsLeft)} left</small>}
      </>
    ),
  },
  { name: 'p̂', cell: ({ success }) => <Course values={success} /> },
  { name: 'Held-out', cell: ({ heldOutCourse }) => <Course values={heldOutCourse} /> },
  { name: 'Last epoch (UTC)', kind: 'figure', cell: ({ updated }) => timeText(updated) },
];

const SHOWN_REASONS = 3;

function retriesText({ retries }: RunLine): string {
  if (retries === 0) return '';
  return retries === 1 ? 'one retry' : `${retries} retries`;
}

function Attention({ run }: { run: RunLine }) {
  const { id, attention, retries } = run;
  return (
    <>
      {attention.slice(0, SHOWN_REASONS).map((reason) => (
        <Chip key={reason} tone="warn">
          {reason}
        </Chip>
      ))}
      {attention.length > SHOWN_REASONS && <small>and {attention.length - SHOWN_REASONS} more</small>}
      {retries > 0 && (
        <small>
          <a href={linkTo(['runs', id], { section: 'history' })}>{retriesText(run)}</a>
        </small>
      )}
    </>
  );
}

const Course = ({ values }: { values: readonly (number | null)[] }) => (
  <span class="course">
    <Sparkline values={values} />
    <span class="figure">{formatRate(values.findLast((value) => value !== null) ?? null)}</span>
  </span>
);
