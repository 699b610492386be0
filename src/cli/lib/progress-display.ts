import { mean } from '../../numerics/arithmetic.ts';
import type { Progress } from '../../types/activity-types.ts';
import type { CliContext } from '../context.ts';
import { createLiveText } from './live-text.ts';
import type { LiveText } from './live-text.ts';
import { OutageLines } from './outage-lines.ts';
import { durationText, rateText } from './text.ts';

export interface ProgressDisplay {
  /** Milliseconds between two polls. */
  everyMs: number;
  /** Whether it shows the phase inside an epoch, which takes one more query. */
  detail: boolean;
  show: (progress: Progress) => void;
  end: () => void;
}

/** Live on a terminal, plain lines without one. */
export function progressDisplay({ terminal, print }: CliContext): ProgressDisplay {
  if (terminal !== null) {
    const screen = new ProgressScreen(terminal);
    return { everyMs: 400, detail: true, show: (progress) => screen.show(progress), end: () => screen.end() };
  }
  const lines = new ProgressLines(print);
  return { everyMs: 300, detail: false, show: (progress) => lines.show(progress), end: () => undefined };
}

/**
 * Progress as plain lines: one for each phase of the preparation, one for each committed epoch, and waits for
 * model servers.
 */
export class ProgressLines {
  readonly #print: (line: string) => void;
  readonly #outages: OutageLines;
  #phase = '';
  #committed: number | null = null;
  #notes: readonly string[] = [];
  #status: Progress['status'] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
    this.#outages = new OutageLines(print);
  }

  show(progress: Progress): void {
    this.#newNotes(progress);
    this.#newStatus(progress);
    this.#outages.show(progress.waiting);
    if (progress.status === 'preparing') {
      // A phase that waits is shown by the line of its wait.
      if (progress.waiting !== null) return;
      if (progress.phase !== this.#phase && progress.phase !== '')
        this.#print(`preparing: ${progress.phase}`);
      this.#phase = progress.phase;
      return;
    }
    const committed = lastCommitted(progress);
    // Epochs that were committed before this command started are not printed again.
    this.#committed ??= committed - (committed > 0 ? 1 : 0);
    for (let epoch = this.#committed + 1; epoch <= committed; epoch++)
      this.#print(epochLine(progress, epoch, committed));
    this.#committed = Math.max(this.#committed, committed);
  }

  /** Another command may pause the run, or ask it to stop. */
  #newStatus({ status }: Progress): void {
    if (status === this.#status) return;
    if (status === 'paused') this.#print('paused; `npx genenv resume` with its id continues it');
    else if (status === 'stopping') this.#print('stops after the epoch under way');
    else if (this.#status === 'paused') this.#print('continues');
    this.#status = status;
  }

  #newNotes({ notes }: Progress): void {
    for (const note of notes.slice(countKept(this.#notes, notes))) this.#print(`note: ${note}`);
    this.#notes = notes;
  }
}

/** How many of some notes were the last ones of an earlier look: a run keeps only its last notes. */
function countKept(before: readonly string[], notes: readonly string[]): number {
  const isKept = (count: number): boolean =>
    notes.slice(0, count).every((note, index) => note === before[before.length - count + index]);
  let count = Math.min(before.length, notes.length);
  while (!isKept(count)) count -= 1;
  return count;
}

function epochLine(progress: Progress, epoch: number, last: number): string {
  const { epochs, band, recentSuccessRates, heldOut, difficulty, environmentReward, epochSeconds } = progress;
  const width = String(epochs).length;
  const rate = epoch === last ? progress.successRate : recentSuccessRates.at(epoch - last - 1);
  const success = progress.validTasks === 0 && epoch === last ? '–, no task was valid' : rateText(rate);
  const number = String(epoch).padStart(width);
  const head = `epoch ${number}/${epochs}  success ${success} (band ${band[0]} to ${band[1]})`;
  // For epochs that ended between two polls only the success rates are known.
  if (epoch < last) return head;
  const left = secondsLeft(progress);
  const parts = [
    head,
    `difficulty ${rateText(difficulty, 1)}`,
    `R_env ${rateText(environmentReward)}`,
    `held-out ${rateText(heldOut)}`,
    ...formTexts(progress),
  ];
  if (epochSeconds !== null) parts.push(`${durationText(epochSeconds)} an epoch`);
  if (left !== null) parts.push(`about ${durationText(left)} to go`);
  return parts.join('  ');
}

/** How much of what the policies wrote could be read at all. */
const formTexts = ({ validTasks, wellFormed }: Progress): string[] => [
  ...(validTasks === null ? [] : [`valid tasks ${rateText(validTasks)}`]),
  ...(wellFormed === null ? [] : [`well-formed answers ${rateText(wellFormed)}`]),
];

const RECENT_EPOCHS = 5;

/** Progress drawn in place on a terminal. */
export class ProgressScreen {
  readonly #live: LiveText;
  #last = '';

  constructor(terminal: NodeJS.WriteStream) {
    this.#live = createLiveText(terminal);
  }

  show(progress: Progress): void {
    this.#last = progressScreen(progress);
    this.#live.show(this.#last);
  }

  /** Leaves the last picture on the screen. */
  end(): void {
    this.#live.done();
  }
}

/** The picture, line by line. */
export function progressScreen(progress: Progress): string {
  const { experiment, arm, status, epoch, epochs, phase, notes } = progress;
  const title = `${experiment}${arm === '' ? '' : ` (${arm})`}: ${status}`;
  if (status === 'preparing')
    return ['', title, phase === '' ? 'reading the experiment file' : phase].join('\n');
  const committed = lastCommitted(progress);
  const left = secondsLeft(progress);
  const leftText = left === null ? '' : `  about ${durationText(left)} to go`;
  const heldOut = rateText(progress.heldOut);
  const difficulty = rateText(progress.difficulty, 1);
  const lines = [
    '',
    title,
    `epoch        ${epoch}/${epochs}  ${bar(committed / epochs)}${leftText}`,
    `phase        ${phase}${rolloutText(progress)}`,
    ...successLines(progress),
    `held-out     ${heldOut}    difficulty ${difficulty}    R_env ${rateText(progress.environmentReward)}`,
    ...(formTexts(progress).length === 0 ? [] : [`form         ${formTexts(progress).join('    ')}`]),
    ...notes.slice(-2).map((note) => `note         ${note}`),
  ];
  return lines.join('\n');
}

function rolloutText({ phase, rolloutsDone, rolloutsPlanned, round }: Progress): string {
  const roundText =
    round && /(^|: )(generate|draw|roll out|reward|filter)$/.test(phase)
      ? `, round ${round.number} of at most ${round.max}`
      : '';
  return /(^|: )roll out$/.test(phase)
    ? `${roundText}, ${rolloutsDone}/${rolloutsPlanned} rollouts`
    : roundText;
}

function successLines({ successRate, recentSuccessRates, band }: Progress): string[] {
  if (successRate === null) return ['success rate –'];
  const recentMean = mean(recentSuccessRates.slice(-RECENT_EPOCHS));
  return [
    `success rate ${rateText(successRate)}  0 ${bandScale(successRate, band)} 1  ${bandPosition(successRate, band)}`,
    `last ${RECENT_EPOCHS}       ${rateText(recentMean)}    ${sparkline(recentSuccessRates)}`,
  ];
}
/** A scale from 0 to 1 with the band in brackets and the value on it: `··[···●·]··`. */
export function bandScale(value: number | null, [low, high]: readonly [number, number], width = 41): string {
  const column = (x: number): number => Math.round(Math.min(1, Math.max(0, x)) * (width - 1));
  const marks = new Array<string>(width).fill('·');
  marks[column(low)] = '[';
  marks[column(high)] = ']';
  if (value !== null) marks[column(value)] = '●';
  return marks.join('');
}

const SPARKS = '▁▂▃▄▅▆▇█';

/** The last values, each from 0 to 1, as small bars. */
export const sparkline = (values: readonly number[], max = 41): string =>
  values.slice(-max).map(spark).join('');

function spark(value: number): string | undefined {
  const level = Math.floor(Math.max(0, value) * SPARKS.length);
  return SPARKS[Math.min(SPARKS.length - 1, level)];
}

/** `████░░░░` */
export function bar(share: number, width = 28): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

function bandPosition(value: number, [low, high]: readonly [number, number]): string {
  if (value < low) return 'below the band';
  return value > high ? 'above the band' : 'in the band';
}

/** Seconds to the end at the pace of the last epochs; null if there is no pace yet, or nothing left. */
function secondsLeft({ status, epoch, epochs, epochSeconds }: Progress): number | null {
  if (epochSeconds === null || !['running', 'paused', 'stopping'].includes(status)) return null;
  return Math.max(0, epochs - epoch + 1) * epochSeconds;
}

/** The last committed epoch: the one before the epoch under way, if there is one. */
const lastCommitted = ({ status, epoch }: Progress): number =>
  ['finished', 'stopped', 'token cap reached'].includes(status) ? epoch : epoch - 1;
