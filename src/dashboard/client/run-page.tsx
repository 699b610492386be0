import { useEffect } from 'preact/hooks';
import { Cards, Header, Heads, Scroll } from '../../report/client/run-parts.tsx';
import { RunSections } from '../../report/client/run-sections.tsx';
import { formatDuration, formatRate } from '../../report/format.ts';
import type { EpochLine } from '../../report/run-view.ts';
import type { FamilyMember, LiveView, RunPage as RunPageData, SettingsChange } from '../api.ts';
import { Problem, ProgressBar, StatePill, timeText, Unread } from './parts.tsx';
import { useResource, useServerEvents } from './resource.ts';
import { go, linkTo } from './router.ts';

/** A run: what it does now, its figures, its history and its relatives. They grow while one looks. */
export function RunPage({ id, query }: { id: string; query: URLSearchParams }) {
  const resource = useResource<RunPageData>(`/api/runs/${encodeURIComponent(id)}`);
  const { value: page, problem, reload } = resource;
  const live = useResource<LiveView>(`/api/runs/${encodeURIComponent(id)}/live`);
  const current = live.value ?? page?.live ?? null;
  useServerEvents((event) => {
    if (event === 'tick') {
      if (current === null || current.isActive) live.reload();
      if (problem !== null) reload();
    } else if (event.runs.includes(id)) {
      reload();
      live.reload();
    }
  });
  const section = query.get('section');
  useEffect(() => {
    if (page !== null && section !== null) document.getElementById(section)?.scrollIntoView();
  }, [page === null, section]);
  if (page === null || current === null) return <Unread resource={resource} />;
  const { view, family, changes } = page;
  const openEpoch = (epoch: number) => go(['runs', id, 'epochs', epoch]);
  return (
    <>
      <p class="eyebrow">Run</p>
      <h1>
        {id} <StatePill state={current.state} />
      </h1>
      <Problem text={problem} />
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

/** What the run does now: phases under way with their attempts, and what it waits for. */
function Now({ live, id }: { live: LiveView; id: string }) {
  const { progress, phases, jobs, temporalUi, resumeCommand } = live;
  return (
    <section class="panel now" aria-label="Now" aria-live="polite">
      <h2>Now</h2>
      {progress !== null && (
        <p>
          Epoch {progress.epoch} of {progress.epochs}: {progress.phase}
          {progress.rolloutsPlanned > 0 && progress.rolloutsDone > 0 && (
            <>
              {' '}
              <ProgressBar
                done={progress.rolloutsDone}
                all={progress.rolloutsPlanned}
                label="rollouts"
              />{' '}
              {progress.rolloutsDone} of {progress.rolloutsPlanned} rollouts
            </>
          )}
          {progress.epochSeconds !== null && (
            <>
              . About {formatDuration((progress.epochs - progress.epoch + 1) * progress.epochSeconds)} to go
            </>
          )}
          .
        </p>
      )}
      {phases.length > 0 && (
        <div class="scroll" role="region" aria-label="Phases under way" tabIndex={0}>
          <table>
            <Heads names={['Phase', 'State', 'Attempt', 'Why it is tried again', 'Last heartbeat (UTC)']} />
            <tbody>
              {phases.map(({ phase, workflow, attempt, state, lastFailure, heartbeatAt }, index) => (
                <tr key={`${workflow} ${phase} ${index}`}>
                  <th scope="row">{phase}</th>
                  <td>{state}</td>
                  <td class="figure">{attempt}</td>
                  <td>{lastFailure}</td>
                  <td class="figure">{timeText(heartbeatAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {jobs.map(({ job, state, log }) => (
        <p key={job}>
          {job}: {state}. <code>{log}</code>
        </p>
      ))}
      {progress === null && phases.length === 0 && <p class="quiet">Nothing is under way.</p>}
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
      <Scroll label="Epochs">
        <table>
          <Heads names={['Epoch', 'Tasks', 'p̂', 'Held-out', 'Difficulty', 'Seconds', 'Notes']} />
          <tbody>
            {shown.map(({ epoch, tasks, success, heldOut, difficulty, seconds, notes }) => (
              <tr key={epoch}>
                <th scope="row">
                  <a href={linkTo(['runs', run, 'epochs', epoch])}>epoch {epoch}</a>
                </th>
                <td class="figure">{tasks}</td>
                <td class="figure">{formatRate(success)}</td>
                <td class="figure">{formatRate(heldOut)}</td>
                <td class="figure">{formatRate(difficulty)}</td>
                <td class="figure">{seconds === null ? '–' : seconds.toFixed(1)}</td>
                <td class="figure">{notes === 0 ? '' : notes}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {epochs.length > shown.length && (
          <p class="quiet">{epochs.length - shown.length} earlier ones: by number.</p>
        )}
      </Scroll>
    </>
  );
}

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

function Changes({ changes }: { changes: readonly SettingsChange[] }) {
  if (changes.length === 0)
    return <p class="quiet">No setting was changed: the experiment file is in effect.</p>;
  return (
    <Scroll label="Settings that changed">
      <h3>Settings that changed</h3>
      <table>
        <Heads names={['From epoch', 'Setting', 'Before', 'After']} />
        <tbody>
          {changes.map(({ fromEpoch, field, before, after }) => (
            <tr key={`${fromEpoch} ${field}`}>
              <td class="figure">{fromEpoch}</td>
              <th scope="row">{field}</th>
              <td class="figure">{before}</td>
              <td class="figure">{after}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
