import { settingsText } from '../runs/run-overview.ts';
import { noteText } from '../scoring/epoch-notes.ts';
import type { Guard } from './guards.ts';
import { joinMarkup, markup, noMarkup } from './markup.ts';
import type { Markup } from './markup.ts';
import { requestTable } from './requests.ts';
import { measured } from './run-data.ts';
import type { EpochRow, ReportEvent, RunData } from './run-data.ts';

const states = { ok: 'ok', warn: 'warn', info: 'read', missing: '–' };

export function guardTable(guards: readonly Guard[]): Markup {
  const head = markup`<tr><th>Guard</th><th>Now</th><th>Course</th><th>Wanted</th><th></th><th>What it means</th></tr>`;
  const rows = guards.map(guardRow);
  return markup`<p class="lead">${GUARD_LEAD}</p>
<div class="panel scroll"><table class="guards"><thead>${head}</thead><tbody>${rows}</tbody></table></div>`;
}

const GUARD_LEAD =
  'A success rate in the band proves little by itself: a simulator that found one coin-flip task would show ' +
  'a perfect curve. These say whether the tasks are worth learning from.';

const guardRow = ({ label, value, threshold, state, explanation, history: values }: Guard): Markup =>
  joinMarkup([
    markup`<tr><th scope="row">${label}</th>`,
    markup`<td class="figure">${value}</td>`,
    markup`<td>${sparkline(values)}</td>`,
    markup`<td class="figure">${threshold}</td>`,
    markup`<td><span class="state ${state}">${states[state]}</span></td>`,
    markup`<td class="meaning">${explanation}</td></tr>`,
  ]);

/** A curve the size of a word. */
function sparkline(values: readonly (number | null)[]): Markup {
  const present = measured(values);
  if (present.length < 2) return noMarkup;
  const [low, high] = [Math.min(...present), Math.max(...present)];
  const [width, height] = [96, 22];
  const point = (value: number, index: number) => {
    const x = (index / (values.length - 1)) * width;
    const level = high === low ? 0.5 : (value - low) / (high - low);
    const y = height - 2 - level * (height - 4);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  const path = values.flatMap((value, index) => (value === null ? [] : [point(value, index)])).join(' ');
  return joinMarkup([
    markup`<svg class="spark" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true">`,
    markup`<polyline points="${path}"/></svg>`,
  ]);
}

/** Starts, resumes, attempts and ends, and the ledger's notes. */
export function history({ events, rows, retunes }: RunData): Markup {
  const isAttempt = ({ type }: ReportEvent): boolean => type === 'attempt' || type === 'model-unavailable';
  const isNote = ({ type }: ReportEvent): boolean => type === 'note' || type === 'message';
  const turns = events.filter((event) => !isAttempt(event) && !isNote(event) && event.type !== 'requested');
  const attempts = events.filter(isAttempt);
  const resumes = events.filter(({ type }) => type === 'resumed').length;
  const summary = `${resumesText(resumes)}; ${attemptsText(attempts.length)}.`;
  const notes = notesOf(rows, events);
  const noteRows = notes.map(
    ({ epoch, text }) => markup`<tr><td class="figure">${epoch}</td><td>${text}</td></tr>`,
  );
  const allSucceeded = markup`<p class="quiet">Every phase succeeded at its first attempt.</p>`;
  const noNotes = markup`<p class="quiet">None.</p>`;
  return markup`<p class="lead">${summary}</p>${retuneTable(retunes)}${requestTable(events)}<div class="columns">
<div class="panel scroll"><h3>Timeline</h3>${timeline(turns)}</div>
<div class="panel scroll"><h3>Attempts</h3>${attempts.length === 0 ? allSucceeded : attemptTable(attempts)}</div>
<div class="panel scroll"><h3>Notes</h3>${notes.length === 0 ? noNotes : table(noteRows)}</div>
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

function retuneTable(retunes: RunData['retunes']): Markup {
  if (retunes.length === 0) return noMarkup;
  const rows = retunes.map(({ fromEpoch, set, time }) =>
    joinMarkup([
      markup`<tr><td class="figure">from epoch ${fromEpoch}</td>`,
      markup`<td>${settingsText(set)}</td><td class="figure">${moment(time)}</td></tr>`,
    ]),
  );
  return markup`<div class="panel scroll"><h3>Retuned</h3>${table(rows)}</div>`;
}

const moment = (at: string): string => at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');

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
  return [place, reason ?? ''].filter((part) => part !== '').join(': ');
}

function timeline(events: readonly ReportEvent[]): Markup {
  if (events.length === 0) return markup`<p class="quiet">No events are recorded.</p>`;
  return table(
    events.map((event) =>
      joinMarkup([
        markup`<tr><td class="figure">${moment(event.at)}</td>`,
        markup`<td><span class="state ${eventTone(event)}">${event.type}</span></td>`,
        markup`<td>${details(event)}</td></tr>`,
      ]),
    ),
  );
}

function eventTone({ type, outcome }: ReportEvent): string {
  if (type === 'started' || outcome === 'finished') return 'ok';
  return type === 'damaged' || outcome === 'failed' ? 'warn' : 'info';
}

/** Each attempt if there are few, else their number by phase and reason. */
function attemptTable(attempts: readonly ReportEvent[]): Markup {
  if (attempts.length <= 40) return timeline(attempts);
  const groups = new Map<string, ReportEvent[]>();
  for (const event of attempts) {
    const what = `${event.phase ?? '?'}: ${event.reason ?? 'no reason given'}`;
    groups.set(what, [...(groups.get(what) ?? []), event]);
  }
  const byCount = [...groups].sort(([, a], [, b]) => b.length - a.length);
  return table(
    byCount.map(([what, events]) => {
      const [first, last] = [moment(events[0]?.at ?? ''), moment(events.at(-1)?.at ?? '')];
      return joinMarkup([
        markup`<tr><td class="figure">${events.length}×</td><td>${what}</td>`,
        markup`<td class="figure">${first} to ${last}</td></tr>`,
      ]);
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

export function record({ runId, experimentFile, head, rows, forkedFrom }: RunData): Markup {
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
    ([name, value]) => markup`<tr><th scope="row">${name}</th><td><code>${value}</code></td></tr>`,
  );
  const ledgerNote = joinMarkup([
    markup`The ledger is a chain of hashes, a pure function of experiment file and seed: `,
    markup`two runs of them end with the same last line. `,
    markup`<code>genenv verify ${runId}</code> recomputes the chain and checks every stored file. `,
    markup`Times, events and requests are kept beside it: no hash and no signature covers them.`,
  ]);
  return markup`<div class="panel scroll">${table(factRows)}
<p class="quiet">${ledgerNote}</p></div>
${experimentFile === null ? noMarkup : settingsDetails(experimentFile.experiment)}`;
}

const settingsDetails = (experiment: unknown): Markup =>
  joinMarkup([
    markup`<details class="panel"><summary>Experiment file, presets and defaults written out</summary>`,
    markup`<pre class="json">${JSON.stringify(experiment, null, 2)}</pre></details>`,
  ]);

const table = (rows: readonly Markup[]): Markup => markup`<table><tbody>${rows}</tbody></table>`;
