import { DataTable } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { Chip, ChoiceField, Pager } from '../../report/client/parts.tsx';
import { FilterFields } from '../../report/client/task-browser.tsx';
import { formatRate } from '../../report/format.ts';
import type { TaskLine, TasksPage } from '../api.ts';
import { Problem, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { linkTo, replaceQuery } from './router.ts';

const filterNames = ['kind', 'valid', 'kept', 'agent', 'reason', 'low', 'high', 'text'] as const;
type FilterName = (typeof filterNames)[number];

interface EpochPageProps {
  run: string;
  epoch: number;
  query: URLSearchParams;
}

/** The tasks of an epoch, by filters that stand in the address. */
export function EpochPage({ run, epoch, query }: EpochPageProps) {
  const resource = useResource<TasksPage>(
    `/api/runs/${encodeURIComponent(run)}/epochs/${epoch}/tasks?${query.toString()}`,
  );
  const { value: page, problem, isMissing, reload } = resource;
  useServerEvents((event) => {
    if (event === 'tick' ? page?.index === 'pending' : event.runs.includes(run)) reload();
  });
  const filters = Object.fromEntries(
    filterNames.map((name) => [name, query.get(name) ?? defaults[name]]),
  ) as Record<FilterName, string>;
  const offset = Number(query.get('offset') ?? 0);
  const hasLater = epoch < (page?.lastEpoch ?? 0);
  const show = (changed: Partial<Record<FilterName | 'offset', string>>) => {
    const next = { ...filters, offset: '', ...changed };
    replaceQuery(
      Object.fromEntries(
        Object.entries(next).filter(([name, value]) => value !== (defaults as Record<string, string>)[name]),
      ),
    );
  };
  if (isMissing) return <Unread resource={resource} />;
  return (
    <>
      <p class="eyebrow">{run}</p>
      <h1>Epoch {epoch}</h1>
      <p>
        {epoch > 0 && <a href={linkTo(['runs', run, 'epochs', epoch - 1])}>‹ epoch before</a>}
        {epoch > 0 && hasLater && ' · '}
        {hasLater && <a href={linkTo(['runs', run, 'epochs', epoch + 1])}>epoch after ›</a>}
      </p>
      {page !== null && <Problem text={problem} />}
      {page !== null && page.total > 0 && <p class="quiet">{page.rule}</p>}
      <form
        class="panel filters"
        id="filters"
        autocomplete="off"
        onSubmit={(event) => event.preventDefault()}
      >
        <FilterFields
          filters={filters}
          kinds={page?.kinds ?? []}
          placeholder="in ids and the starts of tasks"
          onChange={(changed) => show(changed)}
        />
        <ChoiceField
          label="Agent’s update"
          name="agent"
          value={filters.agent}
          choices={['kept', 'left out']}
          onChange={(agent) => show({ agent })}
        />
        <ChoiceField
          label="Why left out"
          name="reason"
          value={filters.reason}
          choices={page?.reasons ?? []}
          onChange={(reason) => show({ reason })}
        />
        <button type="button" onClick={() => replaceQuery({})}>
          Reset
        </button>
      </form>
      {page === null ? (
        <Unread resource={resource} />
      ) : (
        <Tasks
          run={run}
          page={page}
          query={query}
          offset={offset}
          onPage={(at) => show({ offset: String(at) })}
        />
      )}
    </>
  );
}

const defaults: Record<FilterName | 'offset', string> = {
  kind: '',
  valid: '',
  kept: '',
  agent: '',
  reason: '',
  low: '0',
  high: '1',
  text: '',
  offset: '',
};

interface TasksProps {
  run: string;
  page: TasksPage;
  query: URLSearchParams;
  offset: number;
  onPage: (offset: number) => void;
}

function Tasks({ run, page, query, offset, onPage }: TasksProps) {
  const { index, problem, total, matching, pageSize, tasks, epoch } = page;
  if (index === 'pending') return <p class="quiet">The index of this epoch is being made …</p>;
  if (index === 'missing') return <p class="note warn">Its tasks cannot be shown: {problem}</p>;
  if (total === 0)
    return (
      <p class="quiet">
        {epoch === 0 ? 'Epoch 0 is the preparation: it has no tasks.' : 'This epoch has no tasks.'}
      </p>
    );
  return (
    <>
      <p class="quiet" id="task-count" aria-live="polite">
        {matching} of {total} tasks
        {matching > pageSize && `; ${offset + 1} to ${Math.min(matching, offset + pageSize)} are shown`}
      </p>
      <DataTable label="Tasks" class="tasks" columns={taskColumns(run, page, query)} rows={tasks} />
      <Pager items="Tasks" offset={offset} matching={matching} pageSize={pageSize} onPage={onPage} />
    </>
  );
}

const taskColumns = (
  run: string,
  { epoch, isTrained, isPerBatch }: TasksPage,
  query: URLSearchParams,
): Column<TaskLine>[] => [
  {
    name: 'Task',
    kind: 'heading',
    cell: ({ id, index }) => (
      <a href={linkTo(['runs', run, 'epochs', epoch, 'tasks', index], Object.fromEntries(query))}>
        {id.split('/').slice(1).join('/') || id}
      </a>
    ),
  },
  { name: 'From', hint: hints.from, cell: ({ source }) => sourceTexts[source] ?? source },
  { name: 'Kind', cell: ({ kind }) => kind },
  { name: 'Difficulty', kind: 'figure', cell: ({ difficulty }) => difficulty },
  {
    name: 'Solved',
    kind: 'figure',
    cell: ({ attempts, successes }) => (attempts === 0 ? '–' : `${successes}/${attempts}`),
  },
  { name: 'p̂', hint: hints.rate, kind: 'figure', cell: ({ rate }) => formatRate(rate) },
  ...(isPerBatch
    ? [
        {
          name: 'p̂ of its batch',
          hint: hints.batch,
          kind: 'figure',
          cell: ({ source, targetRate }) => (source === 'new' ? formatRate(targetRate) : '–'),
        } satisfies Column<TaskLine>,
      ]
    : []),
  {
    name: 'Simulator’s update',
    hint: hints.simulator,
    cell: (task) => <Use kept={task.keptForSimulator} isTrained={isTrained.simulator} task={task} />,
  },
  {
    name: 'Agent’s update',
    hint: hints.agent,
    cell: (task) => (
      <>
        <Use kept={task.keptForAgent} isTrained={isTrained.agent} task={task} />
        <Extreme rate={task.rate} />
      </>
    ),
  },
  { name: 'Text', kind: 'excerpt', cell: ({ excerpt }) => excerpt },
];

const sourceTexts: Readonly<Record<string, string>> = {
  new: 'new',
  history: 'earlier epoch',
  base: 'base task',
};

const hints = {
  from: 'Written in this epoch, or drawn from earlier epochs or the base tasks',
  rate: 'Share of the agent’s rollouts that solve the task',
  batch: 'Mean over the variations of one seed prompt: what the filter and the simulator’s reward go by',
  simulator: 'The simulator learns from the new tasks alone',
  agent: 'Whether the agent learns from its rollouts of the task',
};

/** A group that all solve, or none: without partial rewards its answers have no advantage. */
function Extreme({ rate }: { rate: number | null }) {
  if (rate !== 0 && rate !== 1) return null;
  return <Chip tone="plain">{rate === 0 ? 'all wrong' : 'all right'}</Chip>;
}

interface UseProps {
  kept: boolean | null;
  isTrained: boolean;
  task: TaskLine;
}

/** Whether an update uses the task, and why not. */
function Use({ kept, isTrained, task }: UseProps) {
  if (!task.valid) return <Chip tone="bad">invalid: {task.reason.replaceAll('_', ' ')}</Chip>;
  if (!isTrained) return <span class="quiet">not trained</span>;
  if (kept === null) return <>–</>;
  return kept ? <Chip tone="good">kept</Chip> : <Chip tone="warn">left out: {task.reason}</Chip>;
}
