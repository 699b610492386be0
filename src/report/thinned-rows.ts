import { mean, range } from '../numerics/arithmetic.ts';
import type { Metrics } from '../types/run-state.ts';
import { measuredValues, series, trainingRows } from './run-data.ts';
import type { EpochRow } from './run-data.ts';

/**
 * At most `max` rows for charts of long runs, besides the preparation: each is the mean of equally many epochs, and
 * has the number of the last of them.
 */
export function thinned(rows: readonly EpochRow[], max = 500): { rows: EpochRow[]; epochsPerPoint: number } {
  const epochs = trainingRows(rows);
  const size = Math.ceil(epochs.length / max);
  if (size <= 1) return { rows: [...rows], epochsPerPoint: 1 };
  const bins = range(Math.ceil(epochs.length / size)).map((bin) =>
    epochs.slice(bin * size, (bin + 1) * size),
  );
  return {
    rows: [...rows.filter(({ epoch }) => epoch === 0), ...bins.map(meanRow)],
    epochsPerPoint: size,
  };
}

const meanRow = (bin: readonly EpochRow[]): EpochRow => ({
  ...bin.at(-1)!,
  metrics: meanMetrics(bin),
  time: meanTimes(bin),
});

const namesOf = (records: readonly object[]): string[] => [
  ...new Set(records.flatMap((record) => Object.keys(record))),
];

/** Prefixes of shares and counts by name: an epoch that lacks a name has none of it. */
const tallies = ['env/kind/', 'env/invalid/', 'env/filtered/'];

function meanMetrics(bin: readonly EpochRow[]): Metrics {
  const names = namesOf(bin.map(({ metrics }) => metrics));
  return Object.fromEntries(names.map((name) => [name, meanMetric(name, series(bin, name))]));
}

function meanMetric(name: string, values: readonly (number | null)[]): number | null {
  // Counted since the start of the run.
  if (name === 'num_tokens') return measuredValues(values).at(-1) ?? null;
  const isTally = tallies.some((prefix) => name.startsWith(prefix));
  return mean(isTally ? values.map((value) => value ?? 0) : measuredValues(values));
}

/** A phase that an epoch does without took no time; of an epoch without times nothing is known. */
function meanTimes(bin: readonly EpochRow[]): Record<string, number> {
  const times = bin.map(({ time }) => time).filter((time) => Object.keys(time).length > 0);
  return Object.fromEntries(
    namesOf(times).map((name) => [name, mean(times.map((time) => time[name] ?? 0))!]),
  );
}
