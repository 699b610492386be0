/** Files that somebody has edited, or another version has written: an error names file and field. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openRun } from '../../src/runs/ledger-entry.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { canonicalJson, hashOf } from '../../src/store/canonical-json.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { opening } from '../../test-support/opening.ts';
import { someRun } from './some-run.ts';

const write = async (file: string, value: unknown): Promise<void> => {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, canonicalJson(value));
};

it('a ledger whose lines chain, and are none of this project, is refused and stays as it is', async () => {
  const run = await someRun();
  const folder = run.dependencies.runFolder('some-run');
  const [line] = (await readFile(folder.ledgerFile, 'utf8')).split('\n');
  const entry = JSON.parse(line!) as LedgerEntry & { previous: string };
  const state = { ...entry.outputs.state, tokens: 'many' };
  const edited = `${canonicalJson({ ...entry, outputs: { ...entry.outputs, state } })}\n`;
  await writeFile(folder.ledgerFile, edited);
  await rm(join(folder.path, 'ledger.head.json'));
  const problem =
    'ledger.jsonl: line 1: outputs.state.tokens: Invalid input: expected number, received string';
  const opened = run.activities.openEpoch(opening('some-run', 0));
  await expect(opened).rejects.toThrow(InvalidArtifact);
  await expect(opened).rejects.toThrow(problem);
  await expect(run.epochs(1)).rejects.toThrow(problem);
  expect(await readFile(folder.ledgerFile, 'utf8')).toBe(edited);

  await write(folder.forkFile, { run: 'parent', epoch: 0, line: JSON.parse(edited) as unknown });
  await expect(openRun(folder)).rejects.toThrow('fork.json: line: outputs.state.tokens: Invalid input');
});

it('records of evaluations and comparisons name the field', async () => {
  const { dependencies } = await someRun();
  const evaluation = dependencies.evaluationFolder('some');
  await write(evaluation.evaluationFile, { name: 'some', policy: { type: 'gold' }, suites: 7 });
  await expect(evaluation.read()).rejects.toThrow('evaluation.json: suites: Invalid input');
  await write(evaluation.resultsFile, { id: 'some', identity: hashOf({}), shards: [], judged: -1 });
  await expect(evaluation.readResults()).rejects.toThrow('results.json: evaluation: Invalid input');
  const comparison = dependencies.comparisonFolder('some');
  await write(comparison.comparisonFile, {
    name: 'some',
    seeds: [1],
    arms: { genenv: {} },
    baseline: 'genenv',
  });
  await expect(comparison.read()).rejects.toThrow('comparison.json: arms.genenv.name: Invalid input');
});
