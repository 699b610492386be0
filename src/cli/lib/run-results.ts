import type { Prices } from '../../config/prices.ts';
import { mean as meanOf } from '../../numerics/arithmetic.ts';
import { findings } from '../../report/findings.ts';
import { loadRun } from '../../report/load-run.ts';
import { heldOutOf, measuredValues, series, trainingRows } from '../../report/run-data.ts';
import type { EpochRow } from '../../report/run-data.ts';
import { writeReport } from '../../report/write-report.ts';
import { writeTensorboard } from '../../tracking/write-tensorboard.ts';
import type { CliContext } from '../context.ts';
import { plainTable } from './table.ts';
import { durationText, rateText } from './text.ts';
import { loadWorldAsWorker } from './load-world.ts';

/**
 * Writes a run's report and TensorBoard files, and gives the report's path. Without the trainer's Python the
 * TensorBoard files are missing, with a warning.
 */
export async function writeResults(
  home: string,
  runId: string,
  context: CliContext,
  prices?: Prices,
): Promise<string> {
  const report = await writeReport({ home, runId, loadWorld: loadWorldAsWorker(context), prices });
  try {
    await writeTensorboard({ home, runId, env: context.env });
  } catch (error) {
    context.warn((error as Error).message);
  }
  return report;
}

const PARTS = 6;

/** A run's course in sixths, then the figures it is judged by. */
export async function summaryTable(home: string, id: string): Promise<string> {
  const { rows } = await loadRun({ home, runId: id });
  const epochs = trainingRows(rows);
  const course = plainTable([
    'epochs',
    'success',
    'in band',
    'difficulty',
    'answer tokens',
    'R_env',
    'held-out',
  ]);
  for (const part of splitEvenly(epochs)) {
    const mean = (name: string): number | null => meanOf(measuredValues(series(part, name)));
    course.push([
      `${part[0]?.epoch ?? ''}-${part.at(-1)?.epoch ?? ''}`,
      rateText(mean('env/success_rate')),
      rateText(mean('env/in_band_fraction')),
      rateText(mean('env/difficulty'), 1),
      rateText(mean('completions/mean_length'), 1),
      rateText(mean('env/reward')),
      rateText(meanOf(measuredValues(part.map(heldOutOf)))),
    ]);
  }
  const { success, heldOut } = findings(rows);
  const residence = success?.residence ?? null;
  const seconds = rows.reduce((sum, { time }) => sum + (time.epoch ?? 0), 0);
  const residenceText =
    residence === null ? '' : `; in the band for ${Math.round(100 * residence)} % of the second half`;
  const lines = [
    `success rate  ${rateText(success?.start)} -> ${rateText(success?.end)}${residenceText}`,
    `held-out      ${rateText(heldOut?.first.value)} -> ${rateText(heldOut?.last.value)}`,
    ...(seconds > 0 ? [`time in epochs ${durationText(seconds)}`] : []),
  ];
  return [course.toString(), ...lines].join('\n');
}

function splitEvenly(epochs: EpochRow[]): EpochRow[][] {
  const count = Math.min(PARTS, epochs.length);
  return Array.from({ length: count }, (_, part) =>
    epochs.slice(
      Math.floor((part * epochs.length) / count),
      Math.floor(((part + 1) * epochs.length) / count),
    ),
  );
}
