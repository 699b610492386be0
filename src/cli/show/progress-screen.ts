import { createLogUpdate } from 'log-update';
import type { Progress } from '../../types/activity-types.ts';
import { bandScale, bar, sparkline, where } from './band.ts';
import { lastCommitted, secondsLeft } from './eta.ts';
import { durationText, rateText } from './units.ts';

const MEAN_OF = 5;

/** Progress drawn in place on a terminal. */
export class ProgressScreen {
  readonly #log: ReturnType<typeof createLogUpdate>;
  #last = '';

  constructor(terminal: NodeJS.WriteStream) {
    this.#log = createLogUpdate(terminal);
  }

  show(progress: Progress): void {
    this.#last = screen(progress);
    this.#log(this.#last);
  }

  /** Leaves the last picture where it is. */
  end(): void {
    this.#log.done();
  }
}

/** The picture, line by line. */
export function screen(progress: Progress): string {
  const { experiment, arm, status, epoch, epochs, phase, notes } = progress;
  const title = `${experiment}${arm === '' ? '' : ` (${arm})`}: ${status}`;
  if (status === 'preparing')
    return ['', title, phase === '' ? 'reading the experiment file' : phase].join('\n');
  const committed = lastCommitted(progress);
  const left = secondsLeft(progress);
  const lines = [
    '',
    title,
    `epoch        ${epoch}/${epochs}  ${bar(committed / epochs)}${left === null ? '' : `  about ${durationText(left)} to go`}`,
    `phase        ${phase}${rollouts(progress)}`,
    ...successLines(progress),
    `held-out     ${rateText(progress.heldOut)}    difficulty ${rateText(progress.difficulty, 1)}    R_env ${rateText(progress.environmentReward)}`,
    ...notes.slice(-2).map((note) => `note         ${note}`),
  ];
  return lines.join('\n');
}

const rollouts = ({ phase, rolloutsDone, rolloutsPlanned }: Progress): string =>
  phase === 'roll out' ? `, ${rolloutsDone}/${rolloutsPlanned} rollouts` : '';

function successLines({ successRate, recentSuccessRates, band }: Progress): string[] {
  if (successRate === null) return ['success rate –'];
  const last = recentSuccessRates.slice(-MEAN_OF);
  const mean = last.reduce((sum, value) => sum + value, 0) / Math.max(1, last.length);
  return [
    `success rate ${rateText(successRate)}  0 ${bandScale(successRate, band)} 1  ${where(successRate, band)}`,
    `last ${MEAN_OF}       ${rateText(last.length === 0 ? null : mean)}    ${sparkline(recentSuccessRates)}`,
  ];
}
