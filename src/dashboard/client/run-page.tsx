import { useEffect } from 'preact/hooks';
import { DataTable, Table } from '../../report/client/data-table.tsx';
import type { Column } from '../../report/client/data-table.tsx';
import { Cards, Header } from '../../report/client/run-parts.tsx';
import { showSection } from '../../report/client/sections.tsx';
import { RunSections } from '../../report/client/run-sections.tsx';
import { formatDuration, formatRate } from '../../report/format.ts';
import type { EpochLine } from '../../report/run-view.ts';
import type { Progress } from '../../types/activity-types.ts';
import type { FamilyMember, LiveView, RunPage as RunPageData, SettingsChange } from '../api.ts';
import { Problem, ProgressBar, StatePill, timeText, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { go, linkTo } from './router.ts';

/** A run: what it does now, its figures, its history and its relatives. They grow while one looks. */
export function RunPage({ id, query }: { id: string; query: URLSearchParams }) {
  const resource = useResource<RunPageData>(`/api/runs/${encodeURIComponent(id)}`);
  const { value: page, reload } = resource;
  const live = useResource<LiveView>(`/api/runs/${encodeURIComponent(id)}/live`);
  const current = live.value ?? page?.live ?? null;
  useServerEvents((event) => {
    if (event === 'tick') {
      if (current !== null && current.state !== 'finished') live.reload();
    } else if (event.runs.includes(id)) {
      reload();
      live.reload();
    }
  });
  const section = query.get('section');
  useEffect(() => {
    if (page !== null && section !== null) showSection(section);
  }, [page === null, section]);
  if (page === null || current === null) return <Unread resource={resource} />;
  const { view, family, changes } = page;
  const openEpoch = (epoch: number) => go(['runs', id, 'epochs', epoch]);
  return (
    <>
      <p class="eyebrow">Run</p>
      <h1>
        {id}{' '}
        <span aria-live="polite">
          <StatePill state={current.state} />
        </span>
      </h1>
      <Problem text={resource.problem ?? live.problem} />
      <Header view={view} />
      <Now live={current} id={id} />
      <Cards cards={view.cards} />
      <RunSections
        view={view}
        onEpoch={openEpoch}
        tasks={<EpochTable run={id} epochs={view.epochs} />}
        linkTo={(name) => linkTo(['runs', id], { section: name })}
      />
      <section id="family">
        <h2>Resumptions, retunes, forks and rewinds</h2>
        <div class="panel">
          <ul class="tree">
            <Member member={family} shown={id} />
          </ul>
        </div>
        <Changes changes={changes} />
      </section>
    </>
  );
}

/** The phase without its epoch, which stands before it. */
const phaseText = ({ phase, epoch }: Progress): string => phase.replace(`epoch ${epoch}: `, '');

/** The count stays at its end through the phases after. */
const isRollingOut = ({ phase, rolloutsPlanned, rolloutsDone }: Progress): boolean =>
  phase.includes('roll') && rolloutsPlanned > 0 && rolloutsDone > 0;

function nowText({ progress, phases, problem }: LiveView): string {
  if (progress !== null) return `Epoch ${progress.epoch} of ${progress.epochs}: ${phaseText(progress)}.`;
  return phases.length === 0 && problem === undefined ? 'Nothing is under way.' : '';
}

/** What the run does now: phases under way with their attempts, and what it waits for. */
function Now({ live, id }: { live: LiveView; id: string }) {
  const { progress, phases, jobs, temporalUi, resumeCommand, problem } = live;
  return (
    <section class="panel now" aria-label="Now">
      <h2>Now</h2>
      <Problem text={problem ?? null} />
      <p aria-live="polite">{nowText(live)}</p>
      {progress !== null && (
        <p>
          {isRollingOut(progress) && (
            <>
              <ProgressBar done={progress.rolloutsDone} all={progress.rolloutsPlanned} label="rollouts" />{' '}
              {progress.rolloutsDone} of {progress.rolloutsPlanned} rollouts.{' '}
            </>
          )}
          {progress.epochSeconds !== null && (
            <>About {formatDuration((progress.epochs - progress.epoch + 1) * progress.epochSeconds)} to go.</>
          )}
        </p>
      )}
      {phases.length > 0 && (
        <div class="scroll" role="region" aria-label="Phases under way" tabIndex={0}>
          <Table columns={phaseColumns} rows={phases} />
        </div>
      )}
      {jobs.map(({ job, state, log }) => (
        <p key={job}>
          {job}: {state}. <code>{log}</code>
        </p>
      ))}
      {resumeCommand !== null && (
        <p>
          To resume it: <code>{resumeCommand}</code>
        </p>
      )}
      <p>
        {temporalUi !== null && (
          <>
            <a href={temporalUi} target="_blank" rel="noreferrer">
              Its workflow in Temporal’s UI
            </a>{' '}
            ·{' '}
          </>
        )}
        <a href={linkTo(['compare'], { runs: id })}>Compare it</a>
      </p>
    </section>
  );
}

const phaseColumns: readonly Column<LiveView['phases'][number]>[] = [
  { name: 'Phase', kind: 'heading', cell: ({ phase }) => phase },
  { name: 'State', cell: ({ state }) => state },
  { name: 'Attempt', kind: 'figure', cell: ({ attempt }) => attempt },
  { name: 'Why it is tried again', cell: ({ lastFailure }) => lastFailure },
  { name: 'Last heartbeat (UTC)', kind: 'figure', cell: ({ heartbeatAt }) => timeText(heartbeatAt) },
];

const MAX_EPOCHS = 200;

/** The epochs, the last first: each leads to its tasks. */
function EpochTable({ run, epochs }: { run: string; epochs: readonly EpochLine[] }) {
  const shown = epochs.slice(-MAX_EPOCHS).toReversed();
  return (
    <>
      <form
        class="panel filters"
        onSubmit={(event) => {
          event.preventDefault();
          const epoch = new FormData(event.currentTarget).get('epoch');
          if (typeof epoch === 'string' && epoch !== '') go(['runs', run, 'epochs', epoch]);
        }}
      >
        <label>
          Epoch <input name="epoch" type="number" min={0} max={epochs.at(-1)?.epoch ?? 0} required />
        </label>
        <button type="submit">Open its tasks</button>
      </form>
      <DataTable
        label="Epochs"
        columns={epochColumns(run)}
        rows={shown}
        rowKey={({ epoch }) => String(epoch)}
      >
        {epochs.length > shown.length && (
          <p class="quiet">{epochs.length - shown.length} earlier ones: by number.</p>
        )}
      </DataTable>
    </>
  );
}

const epochColumns = (run: string): Column<EpochLine>[] => [
  {
    name: 'Epoch',
    kind: 'heading',
    cell: ({ epoch }) => <a href={linkTo(['runs', run, 'epochs', epoch])}>epoch {epoch}</a>,
  },
  { name: 'Tasks', kind: 'figure', cell: ({ tasks }) => tasks },
  { name: 'p̂', kind: 'figure', cell: ({ success }) => formatRate(success) },
  { name: 'Held-out', kind: 'figure', cell: ({ heldOut }) => formatRate(heldOut) },
  { name: 'Difficulty', kind: 'figure', cell: ({ difficulty }) => formatRate(difficulty) },
  { name: 'Seconds', kind: 'figure', cell: ({ seconds }) => seconds?.toFixed(1) ?? '–' },
  { name: 'Notes', kind: 'figure', cell: ({ notes }) => (notes === 0 ? '' : notes) },
];

const Member = ({ member, shown }: { member: FamilyMember; shown: string }) => (
  <li>
    {member.run === shown ? <b>{member.run}</b> : <a href={linkTo(['runs', member.run])}>{member.run}</a>}{' '}
    <span class="quiet">
      {member.fromEpoch === null ? '' : `forked at epoch ${member.fromEpoch}; `}
      epoch {member.epoch}
    </span>
    <ul>
      {member.turns.map(({ at, type, text }, index) => (
        <li key={index} class="turn">
          <span class="figure">{at}</span> <span class="state info">{type}</span> {text}
        </li>
      ))}
      {member.forks.map((fork) => (
        <Member key={fork.run} member={fork} shown={shown} />
      ))}
    </ul>
  </li>
);

const Changes = ({ changes }: { changes: readonly SettingsChange[] }) =>
  changes.length === 0 ? (
    <p class="quiet">No setting was changed: the experiment file is in effect.</p>
  ) : (
    <DataTable
      label="Settings that changed"
      title="Settings that changed"
      columns={changeColumns}
      rows={changes}
    />
  );

const changeColumns: readonly Column<SettingsChange>[] = [
  { name: 'From epoch', kind: 'figure', cell: ({ fromEpoch }) => fromEpoch },
  { name: 'Setting', kind: 'heading', cell: ({ field }) => field },
  { name: 'Before', kind: 'figure', cell: ({ before }) => before },
  { name: 'After', kind: 'figure', cell: ({ after }) => after },
];
