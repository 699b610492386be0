import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { evaluationOfEpoch } from '../../src/evaluation/evaluation-id.ts';
import { loadRun } from '../../src/report/load-run.ts';
import { sha256 } from '../../src/store/canonical-json.ts';
import { withFields } from '../../test-support/experiments.ts';
import { makeEvaluation } from '../evaluation/make-evaluation.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { makeRun } from './make-run.ts';
import { someCases } from './some-evaluation-view.ts';

test('evaluations on benchmarks are looked for after the epochs that can have one, and after no other', async () => {
  const home = await memoryFolder();
  const { run, runId, experiment } = await makeRun({ home, epochs: 8, planned: 12 });
  const benchmarks = { every: 3, initial: true };
  const evaluated = withFields({ ...experiment }, { 'evaluation.benchmarks': benchmarks });
  await writeFile(run.experimentFile, JSON.stringify(evaluated));
  // It ended after epoch 5, and was continued.
  await run.writeRetunes([
    { fromEpoch: 4, set: { epochs: 5 }, time: '2026-11-21T09:30:00Z' },
    { fromEpoch: 6, set: { epochs: 12 }, time: '2026-11-21T09:40:00Z' },
  ]);
  const lines = (await readFile(run.ledgerFile, 'utf8')).trim().split('\n');
  for (const [epoch, line] of lines.entries())
    await makeEvaluation(home, evaluationOfEpoch(runId, epoch, sha256(line)), someCases('sums', 4));
  const { rows } = await loadRun({ home, runId });
  const scored = rows.filter(({ metrics }) => typeof metrics['benchmark/sums_exact'] === 'number');
  expect(scored.map(({ epoch }) => epoch)).toEqual([0, 3, 5, 6, 8]);
});
