import { lineageText, settingsText } from '../../runs/run-state.ts';
import { screen } from '../show/progress-screen.ts';
import { plainTable } from '../show/table.ts';
import { rateText } from '../show/units.ts';
import type { RunStatus } from './run-status.ts';

const when = (iso: string | null): string => (iso === null ? '–' : iso.slice(0, 16).replace('T', ' '));

export function runTable(runs: readonly RunStatus[]): string {
  const table = plainTable([
    'run',
    'state',
    'epoch',
    'success',
    'last 5',
    'held-out',
    'difficulty',
    'last epoch (UTC)',
  ]);
  for (const {
    id,
    state,
    epoch,
    epochs,
    successRate,
    recentSuccessRate,
    heldOut,
    difficulty,
    updated,
  } of runs) {
    table.push([
      id,
      state,
      `${epoch}/${epochs}`,
      rateText(successRate),
      rateText(recentSuccessRate),
      rateText(heldOut),
      rateText(difficulty, 1),
      when(updated),
    ]);
  }
  return table.toString();
}

export function runDetails(run: RunStatus): string {
  const lines = {
    run: run.id,
    state: `${run.state}${run.goOn === null ? '' : `; to go on: ${run.goOn}`}`,
    arm: run.arm,
    epoch: `${run.epoch}/${run.epochs}`,
    'success rate': `${rateText(run.successRate)} (mean of the last 5: ${rateText(run.recentSuccessRate)})`,
    'held-out': rateText(run.heldOut),
    difficulty: rateText(run.difficulty, 1),
    'last epoch': `${when(run.updated)} UTC`,
    ...(run.forkedFrom.length === 0 ? {} : { lineage: lineageText(run.forkedFrom) }),
    ...(run.retunes.length === 0
      ? {}
      : {
          retuned: run.retunes
            .map(({ fromEpoch, set }) => `from epoch ${fromEpoch} on: ${settingsText(set)}`)
            .join(`\n${' '.repeat(14)}`),
        }),
    folder: run.folder,
    ...(run.problem === null ? {} : { problem: run.problem }),
  };
  const text = Object.entries(lines)
    .map(([name, value]) => `${name.padEnd(14)}${value}`)
    .join('\n');
  return run.progress === null ? text : `${text}\n${screen(run.progress)}`;
}
