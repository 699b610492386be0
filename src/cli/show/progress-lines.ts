import type { Progress } from '../../types/activity-types.ts';
import { lastCommitted, secondsLeft } from './eta.ts';
import { durationText, rateText } from './units.ts';

/** Progress as plain lines: one for each phase of the preparation, one for each committed epoch. */
export class ProgressLines {
  readonly #print: (line: string) => void;
  #phase = '';
  #committed: number | null = null;
  #notes = 0;
  #status: Progress['status'] | undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  show(progress: Progress): void {
    this.#newNotes(progress);
    this.#newStatus(progress);
    if (progress.status === 'preparing') {
      if (progress.phase !== this.#phase && progress.phase !== '')
        this.#print(`preparing: ${progress.phase}`);
      this.#phase = progress.phase;
      return;
    }
    const committed = lastCommitted(progress);
    // What was committed before this command looked is not told again.
    this.#committed ??= committed - (committed > 0 ? 1 : 0);
    for (let epoch = this.#committed + 1; epoch <= committed; epoch++)
      this.#print(line(progress, epoch, committed));
    this.#committed = Math.max(this.#committed, committed);
  }

  /** Somebody else may pause it, or ask it to stop. */
  #newStatus({ status }: Progress): void {
    if (status === this.#status) return;
    if (status === 'paused') this.#print('paused; `npx genenv resume` goes on');
    else if (status === 'stopping') this.#print('stops after the epoch under way');
    else if (this.#status === 'paused') this.#print('goes on');
    this.#status = status;
  }

  #newNotes({ notes }: Progress): void {
    for (const note of notes.slice(Math.min(this.#notes, notes.length))) this.#print(`note: ${note}`);
    this.#notes = notes.length;
  }
}

function line(progress: Progress, epoch: number, last: number): string {
  const { epochs, band, recentSuccessRates, heldOut, difficulty, environmentReward, epochSeconds } = progress;
  const width = String(epochs).length;
  const head = `epoch ${String(epoch).padStart(width)}/${epochs}  success ${rateText(recentSuccessRates.at(epoch - last - 1))} (band ${band[0]} to ${band[1]})`;
  // Epochs that ended between two looks: only their success rates are known here.
  if (epoch < last) return head;
  const left = secondsLeft(progress);
  const parts = [
    head,
    `difficulty ${rateText(difficulty, 1)}`,
    `R_env ${rateText(environmentReward)}`,
    `held-out ${rateText(heldOut)}`,
  ];
  if (epochSeconds !== null) parts.push(`${durationText(epochSeconds)} an epoch`);
  if (left !== null) parts.push(`about ${durationText(left)} to go`);
  return parts.join('  ');
}
