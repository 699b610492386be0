import { appendFile, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { branchNames, cutLedger } from '../../src/runs/cut-ledger.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { finishRewind, rewindFolder } from '../../src/runs/rewind.ts';
import type { RunFolder } from '../../src/runs/run-folder.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from '../activities/some-run.ts';
import type { SomeRun } from '../activities/some-run.ts';

const id = 'some-run';
const folderOf = ({ dependencies }: SomeRun): RunFolder => dependencies.runFolder(id);
const text = (file: string): Promise<string> => readFile(file, 'utf8');
const back = (run: SomeRun, epoch: number, set = {}) => rewindFolder(folderOf(run), run.home, { epoch, set });
const types = async (run: SomeRun) => (await folderOf(run).events()).map(({ type }) => type);
/** Resumes a run from its files, as the workflow does. */
async function resumeRun(run: SomeRun, epochs: number, runId = id): Promise<void> {
  for (;;) {
    // eslint-disable-next-line id-denylist -- a field of an activity input
    const { last, ...opened } = await run.activities.openEpoch({ id: runId, known: null, thorough: true });
    if (last!.epoch >= epochs) return;
    await plainEpoch(run.activities, { ...run.plan, ...opened }, last!);
  }
}

describe('rewind', () => {
  it('cuts ledger, metrics and retunes, keeps them whole as a branch, and the run ends as before', async () => {
    const run = await someRun();
    await run.epochs(3);
    const folder = folderOf(run);
    await run.activities.retuneExperiment({ id, set: { epochs: 9 }, fromEpoch: 5 });
    const before = {
      ledger: await text(folder.ledgerFile),
      metrics: await text(folder.metricsFile),
      retunes: await text(folder.retunesFile),
    };
    const { branch, ...rewound } = await back(run, 1);
    expect(rewound).toEqual({ epoch: 1, dropped: 2 });
    expect({
      ledger: await text(join(branch!, 'ledger.jsonl')),
      metrics: await text(join(branch!, 'metrics.jsonl')),
      retunes: await text(join(branch!, 'retunes.json')),
    }).toEqual(before);
    expect(await text(folder.ledgerFile)).toBe(before.ledger.split('\n').slice(0, 2).join('\n') + '\n');
    expect((await folder.metrics()).map(({ epoch }) => epoch)).toEqual([0, 1]);
    expect(await folder.readRetunes()).toEqual([]);
    expect((await folder.events()).at(-1)).toMatchObject({
      type: 'rewound',
      epoch: 1,
      dropped: 2,
      kept: branch,
    });
    await resumeRun(run, 3);
    expect(await text(folder.ledgerFile)).toBe(before.ledger);
    expect((await verifyRun(run.dependencies.store, folder)).problems).toEqual([]);
  });

  it('retunes from the epoch after it on, beside what was retuned up to there', async () => {
    const run = await someRun();
    await run.activities.retuneExperiment({ id, set: { 'difficulty.beta': 4 }, fromEpoch: 2 });
    await resumeRun(run, 2);
    await back(run, 1, { 'difficulty.alpha': 0.35 });
    expect(await folderOf(run).readRetunes()).toMatchObject([
      { fromEpoch: 2, set: { 'difficulty.alpha': 0.35, 'difficulty.beta': 4 } },
    ]);
    await resumeRun(run, 2);
    const lines = await (await folderOf(run).open<LedgerEntry>())!.ledger.read();
    expect(lines.map(({ inputs }) => inputs.settings['difficulty.alpha'])).toEqual([0.5, 0.5, 0.35]);
  });

  it('done again changes nothing more', async () => {
    const run = await someRun();
    await run.epochs(2);
    await back(run, 1);
    const files = async () => [
      await text(folderOf(run).ledgerFile),
      await text(folderOf(run).metricsFile),
      (await branchNames(folderOf(run).branchesFolder)).length,
    ];
    const once = await files();
    expect(await back(run, 1)).toEqual({ epoch: 1, dropped: 0, branch: null });
    expect(await files()).toEqual(once);
  });

  it.each<[string, number, object, string]>([
    ['an epoch that is not committed', 7, {}, 'epoch: got 7; expected a committed epoch, 0 to 1'],
    ['a setting that cannot be retuned', 0, { seed: 3 }, 'seed: cannot be retuned'],
    ['a value that is not allowed', 0, { 'difficulty.alpha': 2 }, 'difficulty.alpha: got 2'],
  ])('refuses %s, with nothing changed', async (_, epoch, set, message) => {
    const run = await someRun();
    await run.epochs(1);
    const before = await text(folderOf(run).ledgerFile);
    await expect(back(run, epoch, set)).rejects.toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringContaining(message) as string,
    });
    expect(await text(folderOf(run).ledgerFile)).toBe(before);
    expect(await types(run)).not.toContain('rewinding');
  });

  it('refuses an epoch whose policies are no longer there', async () => {
    const run = await someRun();
    const first = await run.epochs(1);
    await run.epochs(2, first);
    await rm(run.dependencies.store.path(first.state.agent.checkpoint!), { recursive: true });
    await expect(back(run, 1)).rejects.toMatchObject({ name: 'InvalidArtifact' });
    expect((await folderOf(run).metrics()).length).toBe(3);
  });

  it('goes back before damage', async () => {
    const run = await someRun();
    await run.epochs(2);
    await appendFile(folderOf(run).ledgerFile, 'no line\n');
    expect(await back(run, 2)).toMatchObject({ dropped: 1 });
    expect((await verifyRun(run.dependencies.store, folderOf(run))).problems).toEqual([]);
  });

  it('a fork goes back to its start, not before it', async () => {
    const run = await someRun();
    await run.epochs(2);
    await run.activities.parseExperiment({
      id: 'fork',
      file: { ...smallFile, startFrom: { run: id, epoch: 1 } },
    });
    await resumeRun(run, 3, 'fork');
    const folder = run.dependencies.runFolder('fork');
    const before = await text(folder.ledgerFile);
    await expect(rewindFolder(folder, run.home, { epoch: 0, set: {} })).rejects.toMatchObject({
      message: 'epoch: got 0; expected a committed epoch, 1 to 3',
    });
    expect(await rewindFolder(folder, run.home, { epoch: 1, set: {} })).toMatchObject({ dropped: 2 });
    await resumeRun(run, 3, 'fork');
    expect(await text(folder.ledgerFile)).toBe(before);
  });

  it('killed after the ledger was cut, it is finished when the run is gone on with, and only then', async () => {
    const run = await someRun();
    await run.epochs(3);
    const folder = folderOf(run);
    await folder.appendEvent({ type: 'rewinding', epoch: 1, set: { 'difficulty.alpha': 0.35 } });
    await cutLedger(folder, (await folder.open())!.ledger, 2, { reason: 'rewind', epoch: 1 });
    expect(await finishRewind(folder, run.home)).toBe(true);
    expect((await folder.metrics()).map(({ epoch }) => epoch)).toEqual([0, 1]);
    expect(await folder.readRetunes()).toMatchObject([{ fromEpoch: 2, set: { 'difficulty.alpha': 0.35 } }]);
    expect(await readdir(folder.branchesFolder)).toHaveLength(1);
    expect(await finishRewind(folder, run.home)).toBe(false);
    await folder.appendEvent({ type: 'rewinding', epoch: 0, set: {} });
    await resumeRun(run, 2);
    expect(await finishRewind(folder, run.home)).toBe(false);
  });
});
