import { html } from './format.ts';
import type { Guard } from './guards.ts';
import { settingsText } from './lineage.ts';
import { measured } from './run-data.ts';
import type { EpochRow, RunData, RunEvent } from './run-data.ts';

const states = { ok: 'ok', warn: 'warn', info: 'read', missing: '–' };

export function guardTable(guards: readonly Guard[]): string {
  const rows = guards.map(
    ({ label, value, threshold, state, meaning, history: values }) =>
      `<tr><th scope="row">${html(label)}</th><td class="figure">${html(value)}</td><td>${sparkline(values)}</td><td class="figure">${html(threshold)}</td><td><span class="state ${state}">${states[state]}</span></td><td class="meaning">${html(meaning)}</td></tr>`,
  );
  return `<p class="lead">A success rate in the band proves little by itself: a simulator that found one coin-flip task would show a perfect curve. These say whether the tasks are worth learning from.</p>
<div class="panel scroll"><table class="guards"><thead><tr><th>Guard</th><th>Now</th><th>Course</th><th>Wanted</th><th></th><th>What it means</th></tr></thead><tbody>${rows.join('')}</tbody></table></div>`;
}

/** A curve the size of a word. */
function sparkline(values: readonly (number | null)[]): string {
  const present = measured(values);
  if (present.length < 2) return '';
  const [low, high] = [Math.min(...present), Math.max(...present)];
  const [width, height] = [96, 22];
  const place = (value: number, index: number) =>
    `${((index / (values.length - 1)) * width).toFixed(1)},${(height - 2 - (high === low ? 0.5 : (value - low) / (high - low)) * (height - 4)).toFixed(1)}`;
  const path = values.flatMap((value, index) => (value === null ? [] : [place(value, index)])).join(' ');
  return `<svg class="spark" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" aria-hidden="true"><polyline points="${path}"/></svg>`;
}

/** Starts, resumes, attempts and ends, and the ledger's notes. */
export function history({ events, rows, retunes }: RunData): string {
  const turns = events.filter(({ type }) => type !== 'attempt' && type !== 'note');
  const attempts = events.filter(({ type }) => type === 'attempt');
  const resumes = events.filter(({ type }) => type === 'resumed').length;
  const summary = `${resumes === 0 ? 'Never resumed' : resumes === 1 ? 'Resumed once' : `Resumed ${resumes} times`}; ${attempts.length === 0 ? 'no phase was tried again' : attempts.length === 1 ? 'one further attempt at a phase' : `${attempts.length} further attempts at phases`}.`;
  const notes = notesOf(rows, events);
  return `<p class="lead">${summary}</p>${retuneTable(retunes)}<div class="columns">
<div class="panel scroll"><h3>Timeline</h3>${timeline(turns)}</div>
<div class="panel scroll"><h3>Attempts</h3>${attempts.length === 0 ? '<p class="quiet">Every phase succeeded at its first attempt.</p>' : attemptTable(attempts)}</div>
<div class="panel scroll"><h3>Notes</h3>${notes.length === 0 ? '<p class="quiet">None.</p>' : `<table><tbody>${notes.map(({ epoch, text }) => `<tr><td class="figure">${epoch}</td><td>${html(text)}</td></tr>`).join('')}</tbody></table>`}</div>
</div>`;
}

function retuneTable(retunes: RunData['retunes']): string {
  if (retunes.length === 0) return '';
  const rows = retunes.map(
    ({ fromEpoch, set, time }) =>
      `<tr><td class="figure">from epoch ${fromEpoch}</td><td>${html(settingsText(set))}</td><td class="figure">${moment(time)}</td></tr>`,
  );
  return `<div class="panel scroll"><h3>Retuned</h3><table><tbody>${rows.join('')}</tbody></table></div>`;
}

const moment = (at: string): string => html(at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'));
const details = ({ epoch, phase, attempt, reason, text, ...rest }: RunEvent): string => {
  const others = Object.entries(rest).filter(([key]) => key !== 'type' && key !== 'at');
  const extra = others.map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const where = [
    epoch === undefined ? '' : `epoch ${epoch}`,
    phase ?? '',
    attempt === undefined ? '' : `attempt ${attempt}`,
    ...extra,
  ]
    .filter((part) => part !== '')
    .join(', ');
  return html([where, reason ?? text ?? ''].filter((part) => part !== '').join(': '));
};

function timeline(events: readonly RunEvent[]): string {
  if (events.length === 0) return '<p class="quiet">No events are recorded.</p>';
  return `<table><tbody>${events.map((event) => `<tr><td class="figure">${moment(event.at)}</td><td><span class="state ${eventTone(event)}">${html(event.type)}</span></td><td>${details(event)}</td></tr>`).join('')}</tbody></table>`;
}

const eventTone = ({ type, outcome }: RunEvent): string =>
  type === 'started' || outcome === 'finished'
    ? 'ok'
    : type === 'damaged' || outcome === 'failed'
      ? 'warn'
      : 'info';

/** Each attempt where there are few; their number by phase and reason where there are many. */
function attemptTable(attempts: readonly RunEvent[]): string {
  if (attempts.length <= 40) return timeline(attempts);
  const groups = new Map<string, RunEvent[]>();
  for (const event of attempts) {
    const what = `${event.phase ?? '?'}: ${event.reason ?? 'no reason given'}`;
    groups.set(what, [...(groups.get(what) ?? []), event]);
  }
  const rows = [...groups]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(
      ([what, of]) =>
        `<tr><td class="figure">${of.length}×</td><td>${html(what)}</td><td class="figure">${moment(of[0]?.at ?? '')} to ${moment(of.at(-1)?.at ?? '')}</td></tr>`,
    );
  return `<table><tbody>${rows.join('')}</tbody></table>`;
}

function notesOf(
  rows: readonly EpochRow[],
  events: readonly RunEvent[],
): { epoch: number | string; text: string }[] {
  const ledger = rows.flatMap(({ epoch, notes }) => notes.map((text) => ({ epoch, text })));
  const known = new Set(ledger.map(({ epoch, text }) => `${epoch} ${text}`));
  const more = events
    .filter(({ type }) => type === 'note')
    .map(({ epoch, text, reason }) => ({ epoch: epoch ?? '–', text: text ?? reason ?? '' }));
  return [...ledger, ...more.filter(({ epoch, text }) => !known.has(`${epoch} ${text}`))];
}

export function record({ runId, experimentFile, head, rows, forkedFrom }: RunData): string {
  const facts: [string, string][] = [
    ['Run', runId],
    ['Experiment file, sha256', experimentFile?.sha256 ?? 'unreadable'],
    ...forkedFrom
      .slice(0, 1)
      .map(({ run, epoch }): [string, string] => ['Forked from', `${run}, epoch ${epoch}`]),
    ['Ledger, last line', head ?? 'empty'],
    [
      'Committed',
      rows.length === 0 ? 'nothing yet' : `epochs ${rows[0]?.epoch ?? 0} to ${rows.at(-1)?.epoch ?? 0}`,
    ],
  ];
  return `<div class="panel scroll"><table><tbody>${facts.map(([name, value]) => `<tr><th scope="row">${html(name)}</th><td><code>${html(value)}</code></td></tr>`).join('')}</tbody></table>
<p class="quiet">The ledger is a chain of hashes, a pure function of experiment file and seed: two runs of them end with the same last line. <code>genenv verify ${html(runId)}</code> recomputes the chain and checks every stored file.</p></div>
${experimentFile === null ? '' : `<details class="panel"><summary>Experiment file, presets and defaults written out</summary><pre class="json">${html(JSON.stringify(experimentFile.experiment, null, 2))}</pre></details>`}`;
}
