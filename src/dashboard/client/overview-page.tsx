import { useState } from 'preact/hooks';
import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { Chip } from '../../report/client/parts.tsx';
import { Sparkline } from '../../report/client/run-parts.tsx';
import { formatDuration, formatRate } from '../../report/format.ts';
import type { HomeView, RunLine } from '../api.ts';
import { Problem, ProgressBar, StatePill, timeText, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { go, linkTo } from './router.ts';

/** All runs, what each does now, and what needs attention. */
export function OverviewPage() {
  const resource = useResource<HomeView>('/api/home');
  const { value: home, problem, reload } = resource;
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [text, setText] = useState('');
  useServerEvents((event) => {
    if (event !== 'tick' || (home?.runs.some(({ isActive }) => isActive) ?? problem !== null)) reload();
  });
  if (home === null) return <Unread resource={resource} />;
  const runs = home.runs.filter(({ id, arm }) => `${id} ${arm}`.toLowerCase().includes(text.toLowerCase()));
  const choose = (id: string, on: boolean) =>
    setChosen(on ? [...chosen, id] : chosen.filter((kept) => kept !== id));
  return (
    <>
      <h1>Runs</h1>
      <Problem text={problem} />
      <p class="quiet">{home.home}</p>
      {home.runs.length === 0 ? (
        <p>
          No runs yet. Start one: <code>npx genenv run experiments/laptop.json</code>
        </p>
      ) : (
        <>
          <form class="panel filters" onSubmit={(event) => event.preventDefault()}>
            <label class="grow">
              Find{' '}
              <input
                type="search"
                name="find"
                value={text}
                placeholder="in ids and arms"
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <button
              type="button"
              id="compare"
              disabled={chosen.length < 2}
              onClick={() => go(['compare'], { runs: chosen.join(',') })}
            >
              Compare {chosen.length > 0 ? chosen.length : ''}
            </button>
          </form>
          <RunTable runs={runs} chosen={chosen} choose={choose} />
        </>
      )}
      <Results home={home} />
    </>
  );
}

interface RunTableProps {
  runs: readonly RunLine[];
  chosen: readonly string[];
  choose: (id: string, on: boolean) => void;
}

const RunTable = ({ runs, chosen, choose }: RunTableProps) => (
  <DataTable
    label="Runs"
    class="runs"
    rows={runs}
    columns={[
      {
        name: 'Compare',
        cell: ({ id }) => (
          <input
            type="checkbox"
            aria-label={`compare ${id}`}
            checked={chosen.includes(id)}
            onChange={(event) => choose(id, event.currentTarget.checked)}
          />
        ),
      },
      ...runColumns,
    ]}
  />
);

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
  {
    name: 'Epoch',
    kind: 'figure',
    cell: ({ id, epoch, epochs }) => (
      <>
        {epoch} of {epochs}
        <ProgressBar done={epoch} all={epochs} label={`epochs of ${id}`} />
      </>
    ),
  },
  { name: 'p̂', cell: ({ success }) => <Course values={success} /> },
  { name: 'Held-out', cell: ({ heldOutCourse }) => <Course values={heldOutCourse} /> },
  {
    name: 'Left',
    kind: 'figure',
    cell: ({ secondsLeft }) => (secondsLeft === null ? '–' : formatDuration(secondsLeft)),
  },
  { name: 'Last epoch (UTC)', kind: 'figure', cell: ({ updated }) => timeText(updated) },
  { name: 'Needs attention', kind: 'attention', cell: ({ attention }) => <Attention reasons={attention} /> },
];

const Attention = ({ reasons }: { reasons: readonly string[] }) => (
  <>
    {reasons.slice(0, 3).map((reason) => (
      <Chip key={reason} tone="warn">
        {reason}
      </Chip>
    ))}
    {reasons.length > 3 && <small>and {reasons.length - 3} more</small>}
  </>
);

const Course = ({ values }: { values: readonly (number | null)[] }) => (
  <span class="course">
    <Sparkline values={values} />
    <span class="figure">{formatRate(values.findLast((value) => value !== null) ?? null)}</span>
  </span>
);

const Results = ({ home: { comparisons, evaluations } }: { home: HomeView }) => (
  <>
    {comparisons.length > 0 && (
      <section>
        <h2>Comparisons</h2>
        <DataTable label="Comparisons" columns={comparisonColumns} rows={comparisons} />
      </section>
    )}
    {evaluations.length > 0 && (
      <section>
        <h2>Evaluations</h2>
        <DataTable label="Evaluations" columns={evaluationColumns} rows={evaluations} />
      </section>
    )}
  </>
);

const doneText = (isDone: boolean): string => (isDone ? 'done' : 'under way, or interrupted');

const comparisonColumns: readonly Column<HomeView['comparisons'][number]>[] = [
  {
    name: 'Comparison',
    kind: 'heading',
    cell: ({ id }) => <a href={linkTo(['comparisons', id])}>{id}</a>,
  },
  { name: 'Arms', kind: 'figure', cell: ({ arms }) => arms },
  { name: 'Seeds', kind: 'figure', cell: ({ seeds }) => seeds },
  { name: 'State', cell: ({ isSummarized }) => doneText(isSummarized) },
];

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
