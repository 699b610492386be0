import { mean } from '../coevolution/domain.ts';
import { measured } from './run-data.ts';
import type { EpochRow } from './run-data.ts';
import type { Metrics } from '../contracts/phases.ts';

/** Epochs that the report averages over: what GenEnv's claim C1 is judged by. */
export const WINDOW = 5;

/** Mean of each value and the up to `window - 1` before it; null where none was measured. */
export function trailingMean(values: readonly (number | null)[], window = WINDOW): (number | null)[] {
  return values.map((_, index) => mean(measured(values.slice(Math.max(0, index - window + 1), index + 1))));
}

/** Mean of the last `count` measured values. */
export const lastMean = (values: readonly (number | null)[], count = WINDOW): number | null =>
  mean(measured(values).slice(-count));

/** At most `most` rows, each the mean of equally many epochs, for charts of long runs. Named by the last of its epochs. */
export function thinned(rows: readonly EpochRow[], most = 500): { rows: EpochRow[]; epochsPerPoint: number } {
  const size = Math.max(1, Math.ceil(rows.length / most));
  if (size === 1) return { rows: [...rows], epochsPerPoint: 1 };
  const bins = Array.from({ length: Math.ceil(rows.length / size) }, (_, bin) =>
    rows.slice(bin * size, (bin + 1) * size),
  );
  const joined = bins.flatMap((bin) =>
    bin
      .slice(-1)
      .map((last) => ({
        ...last,
        metrics: meanOf(bin.map(({ metrics }) => metrics)),
        time: meanOf(bin.map(({ time }) => time)) as Record<string, number>,
      })),
  );
  return { rows: joined, epochsPerPoint: size };
}

function meanOf(records: readonly Metrics[]): Metrics {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  return Object.fromEntries(
    [...names].map((name) => [name, mean(measured(records.map((record) => record[name] ?? null)))]),
  );
}
