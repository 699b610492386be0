import { findings } from '../../report/findings.ts';
import { loadRun } from '../../report/load-run.ts';
import { measured, trained } from '../../report/run-data.ts';
import type { EpochRow } from '../../report/run-data.ts';
import { plainTable } from './table.ts';
import { durationText, rateText } from './units.ts';

const PARTS = 6;

/** What a run has shown: its course in sixths, then the figures it is judged by. */
export async function summaryTable(home: string, id: string): Promise<string> {
  const { rows } = await loadRun({ home, runId: id });
  const epochs = trained(rows);
  const course = plainTable([
    'epochs',
    'success',
    'in band',
    'difficulty',
    'answer tokens',
    'R_env',
    'held-out',
  ]);
  for (const part of parts(epochs)) {
    const mean = (name: string): number | null =>
      average(measured(part.map(({ metrics }) => metrics[name] ?? null)));
    course.push([
      `${part[0]?.epoch ?? ''}-${part.at(-1)?.epoch ?? ''}`,
      rateText(mean('env/success_rate')),
      rateText(mean('env/in_band_fraction')),
      rateText(mean('env/difficulty'), 1),
      rateText(mean('completions/mean_length'), 1),
      rateText(mean('env/reward')),
      rateText(mean('eval/heldout')),
    ]);
  }
  const { success, heldOut } = findings(rows);
  const residence = success?.residence ?? null;
  const seconds = rows.reduce((sum, { time }) => sum + (time.epoch ?? 0), 0);
  const lines = [
    `success rate  ${rateText(success?.start)} -> ${rateText(success?.end)}${residence === null ? '' : `; in the band for ${Math.round(100 * residence)} % of the second half`}`,
    `held-out      ${rateText(heldOut?.first.value)} -> ${rateText(heldOut?.last.value)}`,
    ...(seconds > 0 ? [`time in epochs ${durationText(seconds)}`] : []),
  ];
  return [course.toString(), ...lines].join('\n');
}

function parts(epochs: EpochRow[]): EpochRow[][] {
  const count = Math.min(PARTS, epochs.length);
  return Array.from({ length: count }, (_, part) =>
    epochs.slice(
      Math.floor((part * epochs.length) / count),
      Math.floor(((part + 1) * epochs.length) / count),
    ),
  );
}

const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
