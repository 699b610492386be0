import type { EpochRow } from '../../src/report/run-data.ts';

/** A row of an epoch in which nothing else happened. */
export const epochRow = (epoch: number, fields: Partial<EpochRow> = {}): EpochRow => ({
  epoch,
  metrics: {},
  time: {},
  at: null,
  notes: [],
  outputs: {},
  ...fields,
});
