/** The parts of a run's page that are tables and texts. */
import type { ComponentChildren } from 'preact';
import type { Card } from '../cards.ts';
import type { CostView } from '../costs.ts';
import type { Guard } from '../guards.ts';
import type { HistoryLine, HistoryView } from '../history-view.ts';
import type { RunView } from '../run-view.ts';
import { DataTable, Scroll } from './data-table.tsx';
import type { Column } from './data-table.tsx';

export function Header({ view }: { view: RunView }) {
  return (
    <>
      <p class="quiet">{view.setting}</p>
      {view.lineage !== null && <p class="quiet">{view.lineage}</p>}
      {view.failure !== null && <p class="note warn">It failed: {view.failure}</p>}
      <p class="verdict">{view.verdict.join(' ')}</p>
      <GuardWarning guards={view.guards} />
      <Gaps gaps={view.gaps} />
    </>
  );
}

function GuardWarning({ guards }: { guards: readonly Guard[] }) {
  const warned = guards.filter(({ state }) => state === 'warn');
  const judged = guards.filter(({ state }) => state === 'ok' || state === 'warn').length;
  if (judged === 0) return null;
  if (warned.length === 0)
    return (
      <p class="note good">
        None of the {judged} guards that can be judged warns: nothing measured here says that the curve is an
        artefact.
      </p>
    );
  return (
    <p class="note warn">
      <b>
        {warned.length} of {judged} guards warn
      </b>
      : {warned.map(({ label }) => label).join(', ')}. The section “Guards” says what they mean; read it
      before you trust the curve.
    </p>
  );
}

export function Gaps({ gaps }: { gaps: readonly string[] }) {
  if (gaps.length === 0) return null;
  return (
    <details class="gaps">
      <summary>{gaps.length === 1 ? 'One thing' : `${gaps.length} things`} could not be shown</summary>
      <ul>
        {gaps.map((gap) => (
          <li key={gap}>{gap}</li>
        ))}
      </ul>
    </details>
  );
}

export const Cards = ({ cards }: { cards: readonly Card[] }) => (
  <div class="cards">
    {cards.map(({ label, value, detail, tone }) => (
      <div key={label} class={`card ${tone}`}>
        <span class="label">{label}</span>
        <span class="value">{value}</span>
        <span class="detail">{detail}</span>
      </div>
    ))}
  </div>
);

const guardStates = { ok: 'ok', warn: 'warn', info: 'read', missing: '–' };

const GUARD_LEAD =
  'A success rate in the band proves little by itself: a simulator that found one coin-flip task would show ' +
  'a perfect curve. These say whether the tasks are worth learning from.';

const guardColumns: readonly Column<Guard>[] = [
  { name: 'Guard', kind: 'heading', cell: ({ label }) => label },
  { name: 'Now', kind: 'figure', cell: ({ value }) => value },
  { name: 'Course', cell: ({ history }) => <Sparkline values={history} /> },
  { name: 'Wanted', kind: 'figure', cell: ({ threshold }) => threshold },
  { name: 'State', cell: ({ state }) => <span class={`state ${state}`}>{guardStates[state]}</span> },
  { name: 'What it means', kind: 'meaning', cell: ({ explanation }) => explanation },
];

export const GuardTable = ({ guards }: { guards: readonly Guard[] }) => (
  <>
    <p class="lead">{GUARD_LEAD}</p>
    <DataTable label="Guards" class="guards" columns={guardColumns} rows={guards} />
  </>
);

/** A curve the size of a word. */
export function Sparkline({ values }: { values: readonly (number | null)[] }) {
  const present = values.filter((value) => value !== null);
  if (present.length < 2) return null;
  const [low, high] = [Math.min(...present), Math.max(...present)];
  const [width, height] = [96, 22];
  const point = (value: number, index: number) => {
    const level = high === low ? 0.5 : (value - low) / (high - low);
    return `${((index / (values.length - 1)) * width).toFixed(1)},${(height - 2 - level * (height - 4)).toFixed(1)}`;
  };
  const points = values.flatMap((value, index) => (value === null ? [] : [point(value, index)])).join(' ');
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}

export function History({ history }: { history: HistoryView }) {
  const { summary, turns, attempts, requests, retunes, notes } = history;
  return (
    <>
      <p class="lead">{summary}</p>
      {retunes.length > 0 && (
        <Titled title="Retuned">
          {retunes.map(({ fromEpoch, text, at }) => (
            <Row key={`${fromEpoch} ${at}`} cells={[`from epoch ${fromEpoch}`, text, at]} />
          ))}
        </Titled>
      )}
      {requests.length > 0 && (
        <Titled title="Who asked for what">
          {requests.map(({ at, request, identity }, index) => (
            <Row key={index} cells={[at, request, identity]} />
          ))}
        </Titled>
      )}
      <div class="columns">
        <Timeline title="Timeline" lines={turns} none="No events are recorded." />
        <Timeline title="Attempts" lines={attempts} none="Every phase succeeded at its first attempt." />
        <Titled title="Notes" none="None.">
          {notes.map(({ epoch, text }, index) => (
            <Row key={index} cells={[String(epoch ?? '–'), text]} />
          ))}
        </Titled>
      </div>
    </>
  );
}

function Timeline({ title, lines, none }: { title: string; lines: readonly HistoryLine[]; none: string }) {
  const shown = lines.slice(-MAX_LINES);
  return (
    <Titled title={title} none={none}>
      {lines.length > shown.length && (
        <Row cells={['', `${lines.length - shown.length} earlier ones are left out`]} />
      )}
      {shown.map(({ at, type, tone, text }, index) => (
        <tr key={index}>
          <td class="figure">{at}</td>
          <td>
            <span class={`state ${tone}`}>{type}</span>
          </td>
          <td>{text}</td>
        </tr>
      ))}
    </Titled>
  );
}

const MAX_LINES = 200;

function Titled({ title, none, children }: { title: string; none?: string; children: ComponentChildren }) {
  const isEmpty = Array.isArray(children) && children.flat().filter(Boolean).length === 0;
  return (
    <Scroll label={title}>
      <h3>{title}</h3>
      {isEmpty ? (
        <p class="quiet">{none}</p>
      ) : (
        <table>
          <tbody>{children}</tbody>
        </table>
      )}
    </Scroll>
  );
}

const Row = ({ cells }: { cells: readonly string[] }) => (
  <tr>
    {cells.map((cell, index) => (
      <td key={index} class={index === 0 ? 'figure' : ''}>
        {cell}
      </td>
    ))}
  </tr>
);

export const Costs = ({ costs: { columns, rows, notes } }: { costs: CostView }) => (
  <DataTable<string[]>
    label="Costs by epoch"
    title="Costs by epoch"
    class="costs"
    columns={columns.map((name, index) => ({ name, kind: 'figure', cell: (cells) => cells[index] }))}
    rows={rows}
  >
    {notes.map((note) => (
      <p key={note} class="quiet">
        {note}
      </p>
    ))}
  </DataTable>
);

export function Record({ view: { runId, record } }: { view: RunView }) {
  const facts: [string, string][] = [
    ['Run', runId],
    ['Experiment file, sha256', record.experimentHash ?? 'unreadable'],
    ...(record.parent === null ? [] : [['Forked from', record.parent] as [string, string]]),
    ['Ledger, last line', record.head ?? 'empty'],
    ['Committed', record.committed],
  ];
  return (
    <>
      <Scroll label="Record">
        <table>
          <tbody>
            {facts.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <code>{value}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <p class="quiet">
          The ledger is a chain of hashes, a pure function of experiment file and seed: two runs of them end
          with the same last line. <code>genenv verify {runId}</code> recomputes the chain and checks every
          stored file. Times, events and requests are kept beside it: no hash and no signature covers them.
        </p>
      </Scroll>
      {record.experiment !== null && (
        <details class="panel">
          <summary>Experiment file, presets and defaults written out</summary>
          <pre class="json">{JSON.stringify(record.experiment, null, 2)}</pre>
        </details>
      )}
    </>
  );
}
