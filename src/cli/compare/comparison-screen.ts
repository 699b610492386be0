import { createLogUpdate } from 'log-update';
import type { Progress } from '../../types/activity-types.ts';
import type { ComparisonProgress } from '../../types/comparison-types.ts';
import { bar } from '../show/band.ts';
import { plainTable } from '../show/table.ts';
import { rateText } from '../show/units.ts';

/** A run under way; `progress` is null while its worker does not answer. */
export interface RunProgress {
  id: string;
  progress: Progress | null;
}

/** A comparison's progress drawn in place on a terminal. */
export class ComparisonScreen {
  readonly #log: ReturnType<typeof createLogUpdate>;

  constructor(terminal: NodeJS.WriteStream) {
    this.#log = createLogUpdate(terminal);
  }

  show(progress: ComparisonProgress, runs: readonly RunProgress[]): void {
    this.#log(comparisonScreen(progress, runs));
  }

  /** Leaves the last picture where it is. */
  end(): void {
    this.#log.done();
  }
}

/** The picture: all runs together, then a row for each that is under way. */
export function comparisonScreen(
  { comparison, status, runs, done, failed }: ComparisonProgress,
  running: readonly RunProgress[],
): string {
  const table = plainTable(['run', 'epoch', 'success', 'held-out', 'phase']);
  for (const { id, progress } of running)
    table.push([
      id,
      progress === null ? '–' : `${progress.epoch}/${progress.epochs}`,
      rateText(progress?.successRate),
      rateText(progress?.heldOut),
      progress?.phase ?? '',
    ]);
  return [
    '',
    `${comparison}: ${status}`,
    `runs  ${done}/${runs}  ${bar(runs === 0 ? 0 : done / runs)}`,
    ...(running.length === 0 ? [] : [table.toString()]),
    ...failed.map(({ id, reason }) => `${id} did not finish: ${reason}`),
  ].join('\n');
}
