import { settingsText } from '../runs/run-overview.ts';
import { noteText } from '../scoring/epoch-notes.ts';
import { escapeHtml } from './document.ts';
import type { Guard } from './guards.ts';
import { requestTable } from './requests.ts';
import { measured } from './run-data.ts';
import type { EpochRow, ReportEvent, RunData } from './run-data.ts';

const states = { ok: 'ok', warn: 'warn', info: 'read', missing: '–' };

export function guardTable(guards: readonly Guard[]): string {
  const head =
    '<tr><th>Guard</th><th>Now</th><th>Course</th><th>Wanted</th><th></th><th>What it means</th></tr>';
  const rows = guards.map(guardRow).join('');
  return `<p class="lead">${GUARD_LEAD}</p>
<div class="panel scroll"><table class="guards"><thead>${head}</thead><tbody>${rows}</tbody></table></div>`;
}

const GUARD_LEAD =
  'A success rate in the band proves little by itself: a simulator that found one coin-flip task would show ' +
  'a perfect curve. These say whether the tasks are worth learning from.';

const guardRow = ({ label, value, threshold, state, explanation, history: values }: Guard): string =>
  `<tr><th scope="row">${escapeHtml(label)}</th>` +
  `<td class="figure">${escapeHtml(value)}</td>` +
  `<td>${sparkline(values)}</td>` +
  `<td class="figure">${escapeHtml(threshold)}</td>` +
  `<td><span class="state ${state}">${states[state]}</span></td>` +
  `<td class="meaning">${escapeHtml(explanation)}</td></tr>`;

/** A curve the size of a word. */
function sparkline(values: readonly (number | null)[]): string {
  const present = measured(values);
  if (present.length < 2) return '';
  const [low, high] = [Math.min(...present), Math.max(...present)];
  const [width, height] = [96, 22];
  const point = (value: number, index: number) => {
    const x = (index / (values.length - 1)) * width;
    const level = high === low ? 0.5 : (value - low) / (high - low);
    const y = height - 2 - level * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  const path = values.flatMap((value, index) => (value === null ? [] : [point(value, index)])).join(' ');
  return (
    `<svg class="spark" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true">` +
    `<polyline points="${path}"/></svg>`
  );
}

/** Starts, resumes, attempts and ends, and the ledger's notes. */
export function history({ events, rows, retunes }: RunData): string {
  const isAttempt = ({ type }: ReportEvent): boolean => type === 'attempt' || type === 'model-unavailable';
  const isNote = ({ type }: ReportEvent): boolean => type === 'note' || type === 'message';
  const turns = events.filter((event) => !isAttempt(event) && !isNote(event) && event.type !== 'requested');
  const attempts = events.filter(isAttempt);
  const resumes = events.filter(({ type }) => type === 'resumed').length;
  const summary = `${resumesText(resumes)}; ${attemptsText(attempts.length)}.`;
  const notes = notesOf(rows, events);
  const noteRows = notes.map(
    ({ epoch, text }) => `<tr><td class="figure">${epoch}</td><td>${escapeHtml(text)}</td></tr>`,
  );
  const allSucceeded = '<p class="quiet">Every phase succeeded at its first attempt.</p>';
  const noNotes = '<p class="quiet">None.</p>';
  return `<p class="lead">${summary}</p>${retuneTable(retunes)}${requestTable(events)}<div class="columns">
<div class="panel scroll"><h3>Timeline</h3>${timeline(turns)}</div>
<div class="panel scroll"><h3>Attempts</h3>${attempts.length === 0 ? allSucceeded : attemptTable(attempts)}</div>
<div class="panel scroll"><h3>Notes</h3>${notes.length === 0 ? noNotes : tableHtml(noteRows)}</div>
</div>`;
}

function resumesText(count: number): string {
  if (count === 0) return 'Never resumed';
  return count === 1 ? 'Resumed once' : `Resumed ${count} times`;
}

function attemptsText(count: number): string {
  if (count === 0) return 'no phase was tried again';
  return count === 1 ? 'one further attempt at a phase' : `${count} further attempts at phases`;
}

function retuneTable(retunes: RunData['retunes']): string {
  if (retunes.length === 0) return '';
  const rows = retunes.map(
    ({ fromEpoch, set, time }) =>
      `<tr><td class="figure">from epoch ${fromEpoch}</td>` +
      `<td>${escapeHtml(settingsText(set))}</td><td class="figure">${moment(time)}</td></tr>`,
  );
  return `<div class="panel scroll"><h3>Retuned</h3>${tableHtml(rows)}</div>`;
}

const moment = (at: string): string => escapeHtml(at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'));
function details({ epoch, phase, attempt, reason, ...rest }: ReportEvent): string {
  const fields = Object.entries(rest).filter(([key]) => key !== 'type' && key !== 'at');
  const extra = fields.map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const parts = [
    epoch === undefined ? '' : `epoch ${epoch}`,
    phase ?? '',
    attempt === undefined ? '' : `attempt ${attempt}`,
    ...extra,
  ];
  const place = parts.filter((part) => part !== '').join(', ');
  return escapeHtml([place, reason ?? ''].filter((part) => part !== '').join(': '));
}

function timeline(events: readonly ReportEvent[]): string {
  if (events.length === 0) return '<p class="quiet">No events are recorded.</p>';
  return tableHtml(
    events.map(
      (event) =>
        `<tr><td class="figure">${moment(event.at)}</td>` +
        `<td><span class="state ${eventTone(event)}">${escapeHtml(event.type)}</span></td>` +
        `<td>${details(event)}</td></tr>`,
    ),
  );
}

function eventTone({ type, outcome }: ReportEvent): string {
  if (type === 'started' || outcome === 'finished') return 'ok';
  return type === 'damaged' || outcome === 'failed' ? 'warn' : 'info';
}

/** Each attempt if there are few, else their number by phase and reason. */
function attemptTable(attempts: readonly ReportEvent[]): string {
  if (attempts.length <= 40) return timeline(attempts);
  const groups = new Map<string, ReportEvent[]>();
  for (const event of attempts) {
    const what = `${event.phase ?? '?'}: ${event.reason ?? 'no reason given'}`;
    groups.set(what, [...(groups.get(what) ?? []), event]);
  }
  const byCount = [...groups].sort(([, a], [, b]) => b.length - a.length);
  return tableHtml(
    byCount.map(([what, events]) => {
      const [first, last] = [moment(events[0]?.at ?? ''), moment(events.at(-1)?.at ?? '')];
      return (
        `<tr><td class="figure">${events.length}×</td><td>${escapeHtml(what)}</td>` +
        `<td class="figure">${first} to ${last}</td></tr>`
      );
    }),
  );
}

function notesOf(
  rows: readonly EpochRow[],
  events: readonly ReportEvent[],
): { epoch: number | string; text: string }[] {
  const ledger = rows.flatMap(({ epoch, notes }) => notes.map((text) => ({ epoch, text })));
  const inLedger = new Set(ledger.map(({ epoch, text }) => `${epoch} ${text}`));
  const eventNotes = events
    .filter(({ type }) => type === 'note')
    .map(({ epoch, note }) => ({ epoch: epoch ?? '–', text: note ?? '' }));
  const messages = events
    .filter(({ type }) => type === 'message')
    .map(({ epoch, message }) => ({ epoch: epoch ?? '–', text: message ?? '' }));
  const notes = [...ledger, ...eventNotes.filter(({ epoch, text }) => !inLedger.has(`${epoch} ${text}`))];
  return [...messages, ...notes.map(({ epoch, text }) => ({ epoch, text: noteText(text) }))];
}

export function record({ runId, experimentFile, head, rows, forkedFrom }: RunData): string {
  const facts: [string, string][] = [
    ['Run', runId],
    ['Experiment file, sha256', experimentFile?.sha256 ?? 'unreadable'],
  ];
  const parent = forkedFrom[0];
  if (parent !== undefined) facts.push(['Forked from', `${parent.run}, epoch ${parent.epoch}`]);
  facts.push(['Ledger, last line', head ?? 'empty']);
  const [first, last] = [rows[0]?.epoch ?? 0, rows.at(-1)?.epoch ?? 0];
  facts.push(['Committed', rows.length === 0 ? 'nothing yet' : `epochs ${first} to ${last}`]);
  const factRows = facts.map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td><code>${escapeHtml(value)}</code></td></tr>`,
  );
  const ledgerNote =
    'The ledger is a chain of hashes, a pure function of experiment file and seed: ' +
    'two runs of them end with the same last line. ' +
    `<code>genenv verify ${escapeHtml(runId)}</code> recomputes the chain and checks every stored file.`;
  return `<div class="panel scroll">${tableHtml(factRows)}
<p class="quiet">${ledgerNote}</p></div>
${experimentFile === null ? '' : settingsDetails(experimentFile.experiment)}`;
}

function settingsDetails(experiment: unknown): string {
  const json = escapeHtml(JSON.stringify(experiment, null, 2));
  return (
    '<details class="panel"><summary>Experiment file, presets and defaults written out</summary>' +
    `<pre class="json">${json}</pre></details>`
  );
}

export const tableHtml = (rows: readonly string[]): string =>
  `<table><tbody>${rows.join('')}</tbody></table>`;
