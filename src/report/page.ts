import { isInBand } from '../coevolution/diagnostics.ts';
import { lineageText, settingsText } from '../runs/run-overview.ts';
import type { Charts } from './charts/charts.ts';
import type { Chart } from './charts/options.ts';
import {
  document,
  escapeHtml,
  figures,
  formatCount,
  formatDuration,
  formatNumber,
  formatPercent,
  formatRate,
} from './document.ts';
import type { Assets } from './document.ts';
import { RESIDENCE } from './findings.ts';
import type { Course, Findings, HeldOutEvaluation } from './findings.ts';
import type { Guard } from './guards.ts';
import { measured, trained } from './run-data.ts';
import type { EpochRow, ReportEvent, RunData } from './run-data.ts';
import type { SampledEpoch } from './samples.ts';

export interface PageContent {
  run: RunData;
  state: { text: string; tone: 'good' | 'warn' | 'plain' };
  verdict: string[];
  cards: Card[];
  guards: Guard[];
  charts: Charts;
  samples: SampledEpoch[];
  epochsPerPoint: number;
  writtenAt: string;
  assets: Assets;
}

/** The whole page: nothing in it is loaded from elsewhere. */
export function page(content: PageContent): string {
  const { run, state, charts, samples, assets } = content;
  const begun = trained(run.rows).length > 0;
  const sampleCount = samples.flatMap((epoch) => epoch.samples).length;
  const sections = [
    {
      id: 'frontier',
      short: 'Frontier',
      title: 'At the edge of its ability?',
      body: figures(charts.frontier),
    },
    { id: 'held-out', short: 'Learning', title: 'Did the agent learn?', body: figures(charts.heldOut) },
    {
      id: 'guards',
      short: 'Guards',
      title: 'Can the band be trusted?',
      body: begun ? `${guardTable(content.guards)}${figures(charts.guards)}` : '',
    },
    { id: 'updates', short: 'Updates', title: 'Rewards and updates', body: figures(charts.updates) },
    {
      id: 'dropped',
      short: 'Dropped',
      title: 'What was dropped',
      body:
        begun && charts.dropped.length === 0
          ? '<p class="quiet">Nothing was invalid or filtered.</p>'
          : figures(charts.dropped),
    },
    { id: 'samples', short: 'Tasks', title: 'Tasks and answers', body: browser(samples) },
    { id: 'costs', short: 'Costs', title: 'Time and pools', body: figures(charts.costs) },
    { id: 'history', short: 'History', title: 'What happened', body: history(run) },
    { id: 'record', short: 'Record', title: 'Experiment and ledger', body: record(run) },
  ].filter(({ body }) => body !== '');
  return document({
    title: `${run.runId} · GenEnv report`,
    header: `<p class="eyebrow">GenEnv co-evolution report</p>
<h1>${escapeHtml(run.runId)} <span class="pill ${state.tone}">${escapeHtml(state.text)}</span></h1>
<p class="quiet">${escapeHtml(setting(run))}</p>
${origin(run)}<p class="verdict">${content.verdict.map(escapeHtml).join(' ')}</p>
${warning(content.guards)}${gaps(run)}`,
    cards: `<div class="cards">${content.cards.map(card).join('')}</div>`,
    lead:
      content.epochsPerPoint > 1
        ? `<p class="quiet">Each point of the figures is the mean of ${content.epochsPerPoint} epochs.</p>`
        : '',
    sections,
    footer:
      `Written ${escapeHtml(content.writtenAt)} by genenv, from the ledger and the store alone. ` +
      `${formatCount(sampleCount)} sampled tasks. Figures: Apache ECharts.`,
    withoutScripts: 'The figures and the task browser need JavaScript; the tables do not.',
    data: {
      charts: Object.fromEntries(
        (Object.values(charts).flat() as Chart[]).map(({ id, option }) => [id, option]),
      ),
      samples,
    },
    assets,
  });
}

function setting({ experiment }: RunData): string {
  if (experiment === null) return 'The settings could not be read.';
  const { arm, world, seed, agent, environment, name } = experiment;
  const tasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  const shape = `${tasks} tasks × ${agent.rolloutsPerTask} attempts an epoch`;
  return [
    name,
    arm.type === 'genenv' ? `arm genenv, preset ${arm.preset}` : `arm ${arm.type}`,
    `world ${world.type}`,
    shape,
    `seed ${seed}`,
  ].join(' · ');
}

/** The runs that it was forked from, and the reason if it failed. */
function origin({ forkedFrom, events }: RunData): string {
  const lines: string[] = [];
  const root = forkedFrom.at(-1);
  if (root !== undefined)
    lines.push(
      `<p class="quiet">This run was ${escapeHtml(lineageText(forkedFrom))}; ` +
        `epochs are counted from the start of ${escapeHtml(root.run)}.</p>\n`,
    );
  const end = events.findLast(({ type }) => ['started', 'resumed', 'rewound', 'ended'].includes(type));
  if (end?.outcome === 'failed') {
    const reason = end.reason ?? 'no reason is recorded';
    lines.push(`<p class="note warn">It failed: ${escapeHtml(reason)}</p>\n`);
  }
  return lines.join('');
}

function warning(guards: readonly Guard[]): string {
  const warned = guards.filter(({ state }) => state === 'warn');
  const judged = guards.filter(({ state }) => state === 'ok' || state === 'warn').length;
  if (judged === 0) return '';
  if (warned.length === 0)
    return (
      `<p class="note good">All ${judged} guards are quiet: ` +
      'nothing measured here says that the curve is an artefact.</p>'
    );
  const labels = escapeHtml(warned.map(({ label }) => label).join(', '));
  return (
    `<p class="note warn"><b>${warned.length} of ${judged} guards warn</b>: ${labels}. ` +
    'Read <a href="#guards">what they mean</a> before trusting the curve.</p>'
  );
}

function gaps({ gaps: missing }: RunData): string {
  if (missing.length === 0) return '';
  const count = missing.length === 1 ? 'One thing' : `${missing.length} things`;
  const items = missing.map((gap) => `<li>${escapeHtml(gap)}</li>`).join('');
  return `<details class="gaps"><summary>${count} could not be shown</summary><ul>${items}</ul></details>`;
}

const card = ({ label, value, detail, tone }: Card): string =>
  `<div class="card ${tone}">` +
  `<span class="label">${escapeHtml(label)}</span>` +
  `<span class="value">${escapeHtml(value)}</span>` +
  `<span class="detail">${escapeHtml(detail)}</span></div>`;

const table = (rows: readonly string[]): string => `<table><tbody>${rows.join('')}</tbody></table>`;

const states = { ok: 'ok', warn: 'warn', info: 'read', missing: '–' };

function guardTable(guards: readonly Guard[]): string {
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
function history({ events, rows, retunes }: RunData): string {
  const turns = events.filter(({ type }) => type !== 'attempt' && type !== 'note');
  const attempts = events.filter(({ type }) => type === 'attempt');
  const resumes = events.filter(({ type }) => type === 'resumed').length;
  const summary = `${resumesText(resumes)}; ${attemptsText(attempts.length)}.`;
  const notes = notesOf(rows, events);
  const noteRows = notes.map(
    ({ epoch, text }) => `<tr><td class="figure">${epoch}</td><td>${escapeHtml(text)}</td></tr>`,
  );
  const allSucceeded = '<p class="quiet">Every phase succeeded at its first attempt.</p>';
  const noNotes = '<p class="quiet">None.</p>';
  return `<p class="lead">${summary}</p>${retuneTable(retunes)}<div class="columns">
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

function retuneTable(retunes: RunData['retunes']): string {
  if (retunes.length === 0) return '';
  const rows = retunes.map(
    ({ fromEpoch, set, time }) =>
      `<tr><td class="figure">from epoch ${fromEpoch}</td>` +
      `<td>${escapeHtml(settingsText(set))}</td><td class="figure">${moment(time)}</td></tr>`,
  );
  return `<div class="panel scroll"><h3>Retuned</h3>${table(rows)}</div>`;
}

const moment = (at: string): string => escapeHtml(at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC'));
function details({ epoch, phase, attempt, reason, text, ...rest }: ReportEvent): string {
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
  return escapeHtml([place, reason ?? text ?? ''].filter((part) => part !== '').join(': '));
}

function timeline(events: readonly ReportEvent[]): string {
  if (events.length === 0) return '<p class="quiet">No events are recorded.</p>';
  return table(
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
  return table(
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
    .map(({ epoch, text, reason }) => ({ epoch: epoch ?? '–', text: text ?? reason ?? '' }));
  return [...ledger, ...eventNotes.filter(({ epoch, text }) => !inLedger.has(`${epoch} ${text}`))];
}

function record({ runId, experimentFile, head, rows, forkedFrom }: RunData): string {
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
  return `<div class="panel scroll">${table(factRows)}
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

const NO_SAMPLES =
  'No stored tasks to show: no epoch is committed yet, or their files are pruned or missing.';
const BROWSER_LEAD =
  'Some tasks of some epochs, chosen evenly from never to always solved: ' +
  'what the simulator was told and wrote, what the agent answered, and what came of it.';

/** The frame of the task browser; client/browser.js fills it. */
function browser(epochs: readonly SampledEpoch[]): string {
  const samples = epochs.flatMap((epoch) => epoch.samples);
  if (samples.length === 0) return `<p class="quiet">${NO_SAMPLES}</p>`;
  const kinds = [...new Set(samples.map(({ kind }) => kind))].filter((kind) => kind !== '').sort();
  const last = epochs.at(-1)?.epoch;
  const epochOptions = epochs.map(
    ({ epoch }) => `<option value="${epoch}"${epoch === last ? ' selected' : ''}>${epoch}</option>`,
  );
  const epochSelect =
    '<span class="pair"><button type="button" id="previous-epoch" aria-label="previous epoch">‹</button>' +
    `<select name="epoch">${option('all', 'all')}${epochOptions.join('')}</select>` +
    '<button type="button" id="next-epoch" aria-label="next epoch">›</button></span>';
  const successRange =
    `<span class="pair">${rateInput('low', '0', 'lowest success rate')} to ` +
    `${rateInput('high', '1', 'highest success rate')}</span>`;
  return `<p class="lead">${BROWSER_LEAD}</p>
<form class="panel filters" id="filters" autocomplete="off">
<label>Epoch ${epochSelect}</label>
<label>Kind ${select('kind', kinds)}</label>
<label>Task ${select('valid', ['valid', 'invalid'])}</label>
<label>Simulator’s update ${select('kept', ['kept', 'filtered'])}</label>
<label>Success ${successRange}</label>
<label class="grow">Text <input name="text" type="search" placeholder="in tasks, contexts and answers"></label>
<button type="reset">Reset</button>
</form>
<p class="quiet" id="sample-count" aria-live="polite"></p>
<div id="sample-list"></div>
<button type="button" id="more-samples" hidden>Show more</button>`;
}

const option = (value: string, label: string): string =>
  `<option value="${escapeHtml(value)}">${escapeHtml(label)}</option>`;

/** A choice among values, or all of them. */
const select = (name: string, values: readonly string[]): string =>
  `<select name="${name}">${option('', 'all')}${values.map((value) => option(value, value)).join('')}</select>`;

const rateInput = (name: string, value: string, label: string): string =>
  `<input name="${name}" type="number" min="0" max="1" step="0.05" value="${value}" aria-label="${label}">`;

export interface Card {
  label: string;
  value: string;
  detail: string;
  tone: 'good' | 'warn' | 'plain';
}

/** The run in eight numbers. */
export function cards(run: RunData, { epochs, success, heldOut, difficulty, length }: Findings): Card[] {
  const rows = trained(run.rows);
  const rollouts = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/count'] ?? 0), 0);
  const errored = rows.reduce((sum, { metrics }) => sum + (metrics['rollouts/errored'] ?? 0), 0);
  const tokens = rows.at(-1)?.metrics.num_tokens ?? null;
  return [
    {
      label: 'Epochs',
      value: String(epochs),
      detail: epochsDetail(run, rows),
      tone: 'plain',
    },
    successCard(success),
    residenceCard(success?.residence ?? null),
    heldOutCard(heldOut),
    courseCard('Task difficulty', difficulty),
    courseCard('Response length', length, ' tokens'),
    {
      label: 'Rollouts',
      value: formatCount(rollouts),
      detail: [
        tokens === null ? '' : `${compact(tokens)} tokens`,
        errored > 0 ? `${errored} lost` : 'none lost',
      ]
        .filter((text) => text !== '')
        .join(', '),
      tone: errored > 0 ? 'warn' : 'plain',
    },
    timeCard(rows, run),
  ];
}

function epochsDetail({ experiment, forkedFrom }: RunData, rows: readonly EpochRow[]): string {
  const planned = experiment?.epochs;
  const last = rows.at(-1)?.epoch;
  if (planned === undefined) return 'committed';
  if ((last ?? 0) >= planned) return 'all committed';
  const parent = forkedFrom[0];
  return parent === undefined ? `of ${planned} committed` : `to epoch ${last ?? parent.epoch} of ${planned}`;
}

function successCard(success: Findings['success']): Card {
  const label = 'Success rate';
  if (success === null) return { label, value: '–', detail: 'not measured', tone: 'plain' };
  const { start, end, residence } = success;
  return {
    label,
    value: arrow(formatRate(start), formatRate(end)),
    detail: 'epoch 1 → mean of the last 5',
    tone: residence === null ? 'plain' : goodIf(isInBand(end)),
  };
}

function residenceCard(residence: number | null): Card {
  const label = 'In the band';
  if (residence === null)
    return { label, value: '–', detail: 'of the second half: too early', tone: 'plain' };
  return {
    label,
    value: formatPercent(residence),
    detail: 'of the second half’s epochs',
    tone: goodIf(residence >= RESIDENCE),
  };
}

const goodIf = (isGood: boolean): Card['tone'] => (isGood ? 'good' : 'warn');
const arrow = (start: string, end: string): string => `${start} → ${end}`;
const compact = (value: number): string =>
  value < 1e6 ? formatCount(value) : `${formatNumber(value / 1e6)} M`;

function heldOutCard(heldOut: Findings['heldOut']): Card {
  const label = 'Held-out success';
  if (heldOut === null) return { label, value: '–', detail: 'not evaluated yet', tone: 'plain' };
  const { first, last } = heldOut;
  if (first.epoch === last.epoch)
    return { label, value: formatRate(last.value), detail: interval(last), tone: 'plain' };
  const rose = first.high !== null && last.low !== null && last.low > first.high;
  const fell = first.low !== null && last.high !== null && last.high < first.low;
  return {
    label,
    value: arrow(formatRate(first.value), formatRate(last.value)),
    detail: `${interval(first)} → ${interval(last)}`,
    tone: rose || fell ? goodIf(rose) : 'plain',
  };
}

const interval = ({ low, high }: HeldOutEvaluation): string =>
  low === null || high === null ? 'no interval' : `[${formatRate(low)}, ${formatRate(high)}]`;

function courseCard(label: string, course: Course | null, unit = ''): Card {
  if (course === null) return { label, value: '–', detail: 'not measured', tone: 'plain' };
  return {
    label,
    value: arrow(formatNumber(course.start), formatNumber(course.end)),
    detail:
      course.turn === null
        ? `${unit === '' ? '' : 'tokens, '}epoch 1 → mean of the last 5`
        : `by way of ${formatNumber(course.turn.value)}${unit} in epoch ${course.turn.epoch}`,
    tone: 'plain',
  };
}

function timeCard(rows: EpochRow[], { events, rows: all }: RunData): Card {
  const seconds = rows.reduce((sum, { time }) => sum + (time.epoch ?? 0), 0);
  const times = [...events.map(({ at }) => at), ...all.map(({ at }) => at ?? '')]
    .map((at) => Date.parse(at))
    .filter(Number.isFinite);
  const elapsed = times.length < 2 ? 0 : (Math.max(...times) - Math.min(...times)) / 1000;
  const duration = elapsed < 1 ? seconds : elapsed;
  return {
    label: 'Wall time',
    value: duration > 0 ? formatDuration(duration) : '–',
    detail:
      rows.length > 0 && seconds > 0
        ? `${formatDuration(seconds / rows.length)} an epoch in the mean`
        : 'no times recorded',
    tone: 'plain',
  };
}
