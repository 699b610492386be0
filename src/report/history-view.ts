import { settingsText } from '../runs/run-overview.ts';
import { noteText } from '../scoring/epoch-notes.ts';
import type { ReportEvent, RunData } from './run-data.ts';

/** An event as a line of a table. */
export interface HistoryLine {
  /** `2026-11-21 09:00:00 UTC` */
  at: string;
  type: string;
  tone: 'ok' | 'warn' | 'info';
  text: string;
  epoch: number | null;
}

/** What happened to a run, apart from its epochs. */
export interface HistoryView {
  /** `Resumed once; no phase was tried again.` */
  summary: string;
  /** Starts, resumptions, rewinds and ends. */
  turns: HistoryLine[];
  /** Further attempts at phases, and outages of model servers. */
  attempts: HistoryLine[];
  /** Who asked for what. */
  requests: { at: string; request: string; identity: string }[];
  retunes: { fromEpoch: number; text: string; at: string }[];
  /** What the epochs' ledger lines and their authors say. */
  notes: { epoch: number | null; text: string }[];
}

/** Starts, resumptions, attempts and ends, and the ledger's notes. */
export function historyView({
  events,
  rows,
  retunes,
}: Pick<RunData, 'events' | 'rows' | 'retunes'>): HistoryView {
  const isAttempt = (event: ReportEvent): boolean => isRetry(event) || event.type === 'model-unavailable';
  const isNote = ({ type }: ReportEvent): boolean => type === 'note' || type === 'message';
  const turns = events.filter((event) => !isAttempt(event) && !isNote(event) && event.type !== 'requested');
  const attempts = events.filter(isAttempt);
  const resumptions = events.filter(({ type }) => type === 'resumed').length;
  return {
    summary: `${resumptionsText(resumptions)}; ${attemptsText(attempts.filter(isRetry).length)}.`,
    turns: turns.map(lineOf),
    attempts: attempts.map(lineOf),
    requests: events
      .filter(({ type }) => type === 'requested')
      .map(({ at, request = '', identity = '' }) => ({ at: moment(at), request, identity })),
    retunes: retunes.map(({ fromEpoch, set, time }) => ({
      fromEpoch,
      text: settingsText(set),
      at: moment(time),
    })),
    notes: notesOf(rows, events),
  };
}

/** Retries, and activities that a worker which was stopped has left to another. */
export const isRetry = ({ type }: Pick<ReportEvent, 'type'>): boolean =>
  type === 'attempt' || type === 'worker-stopped';

function resumptionsText(count: number): string {
  if (count === 0) return 'Never resumed';
  return count === 1 ? 'Resumed once' : `Resumed ${count} times`;
}

function attemptsText(count: number): string {
  if (count === 0) return 'no phase was tried again';
  return count === 1 ? 'one retry of a phase' : `${count} retries of phases`;
}

const moment = (at: string): string => at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');

const lineOf = (event: ReportEvent): HistoryLine => ({
  at: moment(event.at),
  type: event.type,
  tone: toneOf(event),
  text: textOf(event),
  epoch: epochOf(event),
});

/** The epoch of an event; null if it is of none. */
function epochOf({ epoch, workflow = '' }: ReportEvent): number | null {
  const [, ofWorkflow] = /\/epoch-(\d+)$/.exec(workflow) ?? [];
  return epoch ?? (ofWorkflow === undefined ? null : Number(ofWorkflow));
}

function toneOf({ type, outcome }: ReportEvent): HistoryLine['tone'] {
  if (type === 'started' || outcome === 'finished') return 'ok';
  return type === 'damaged' || outcome === 'failed' ? 'warn' : 'info';
}

function textOf(event: ReportEvent): string {
  const { phase, attempt, reason, ...rest } = event;
  const epoch = epochOf(event);
  const handledFields = new Set(['type', 'at', 'epoch', ...(epoch === null ? [] : ['workflow'])]);
  const fields = Object.entries(rest).filter(([key]) => !handledFields.has(key));
  const extra = fields.map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  const parts = [
    epoch === null ? '' : `epoch ${epoch}`,
    phase ?? '',
    attempt === undefined ? '' : `attempt ${attempt}`,
    ...extra,
  ];
  const place = parts.filter((part) => part !== '').join(', ');
  const why = reason ?? textsWithoutReason[rest.type] ?? '';
  return [place, why].filter((part) => part !== '').join(': ');
}

/** What an event without a reason says for it. */
const textsWithoutReason: Readonly<Record<string, string>> = {
  attempt: 'no reason is recorded',
  'worker-stopped': 'its worker was stopped, and another attempt began when a worker was available',
};

function notesOf(rows: RunData['rows'], events: readonly ReportEvent[]): HistoryView['notes'] {
  const ledger = rows.flatMap(({ epoch, notes }) => notes.map((text) => ({ epoch, text })));
  const inLedger = new Set(ledger.map(({ epoch, text }) => `${epoch} ${text}`));
  const eventNotes = events
    .filter(({ type }) => type === 'note')
    .map(({ epoch, note }) => ({ epoch: epoch ?? null, text: note ?? '' }));
  const messages = events
    .filter(({ type }) => type === 'message')
    .map(({ epoch, message }) => ({ epoch: epoch ?? null, text: message ?? '' }));
  const notes = [...ledger, ...eventNotes.filter(({ epoch, text }) => !inLedger.has(`${epoch} ${text}`))];
  return [...messages, ...notes.map(({ epoch, text }) => ({ epoch, text: noteText(text) }))];
}
