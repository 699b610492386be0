import { expect, it } from 'vitest';
import { portableRun } from '../../src/comparison/portable-run.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import type { LedgerLine } from '../../src/store/ledger-chain.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

const steps = [{ fromEpoch: 2, alpha: 0.6 }];
const file = parseExperiment(withFields(exampleFile, { 'difficulty.alphaSchedule': steps }));

/** A ledger whose epochs had these α. */
const ledger = (alphas: readonly number[]): LedgerLine<LedgerEntry>[] =>
  alphas.map((alpha, epoch) => {
    const settings = { ...file, difficulty: { ...file.difficulty, alpha } };
    const policy = { name: 'initial', checkpoint: null };
    const line = {
      epoch,
      inputs: { experiment: { sha256: hashOf(settings) } },
      metrics: {},
      outputs: { state: { agent: policy, environment: policy } },
    };
    return line as unknown as LedgerLine<LedgerEntry>;
  });

const changedIn = (alphas: readonly number[]): number[] =>
  portableRun({ arm: 'a', seed: 1 }, file, ledger(alphas), {
    origin: { home: '0000000a', machine: 'x' },
    benchmarks: [],
  }).changed;

it('says in which epochs a run had other settings than its file has for them', () => {
  expect(changedIn([0.5, 0.5, 0.6, 0.6])).toEqual([]);
  expect(changedIn([0.5, 0.5, 0.5, 0.45])).toEqual([2, 3]);
});
