import { existsSync } from 'node:fs';
import { readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { writeTensorboard } from '../../src/tracking/write-tensorboard.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun, metricsAt } from './growing-run.ts';
import { readBack, stepsOf } from './read-back.ts';

const missing = existsSync(pythonPath()) ? '' : ' (skipped: the trainer’s Python environment is not set up)';
let run: GrowingRun;
beforeEach(async () => {
  run = await GrowingRun.start(await temporaryFolder());
  await run.commitTo(3);
});

const write = (): Promise<void> => writeTensorboard({ home: run.home, runId: run.id, env: process.env });

describe.skipIf(missing !== '')(`TensorBoard files${missing}`, () => {
  const folder = (): string => run.folder.tensorboardFolder;
  const rewards = async (): Promise<{ step: number; value: number }[]> =>
    stepsOf(await readBack('tensorboard', [folder()]), 'reward');
  const upTo = (last: number) =>
    Array.from({ length: last + 1 }, (_, step) => ({ step, value: metricsAt(step).reward! }));

  it('hold metrics, times and settings of the run, each step once however often they are written', async () => {
    await write();
    expect(await rewards()).toEqual(upTo(3));
    await run.commit(4);
    await write();
    await write();
    const { points, config, tags, tables, references } = await readBack('tensorboard', [folder()]);
    expect(await rewards()).toEqual(upTo(4));
    for (const name of ['time/epoch', 'settings/difficulty.alpha', 'rollouts/retried'])
      expect(points.filter(([, metric]) => metric === name).map(([step]) => step)).toEqual([0, 1, 2, 3, 4]);
    expect(config).toMatchObject({ 'agent.rolloutsPerTask': '8', seed: '7' });
    expect(tags).toMatchObject({ 'genenv/key': await run.key() });
    expect(Object.keys(tables)).toEqual(['1', '2', '3', '4']);
    expect(references.ledger).toBe(
      (await run.folder.ledger((await run.folder.open())!.sha256).head())?.sha256,
    );
  });

  it('are completed after a torn end, and written anew after a rewind', async () => {
    await write();
    const [file] = await readdir(folder());
    const bytes = await readFile(join(folder(), file!));
    await writeFile(join(folder(), file!), bytes.subarray(0, -5));
    expect(await rewards()).toEqual(upTo(2));
    await write();
    expect(await rewards()).toEqual(upTo(3));

    await run.rewindTo(1);
    await run.commit(2);
    await write();
    expect(await rewards()).toEqual([...upTo(1), { step: 2, value: metricsAt(2, 100).reward }]);
  });

  it('follow no link, and say what Python said', async () => {
    const elsewhere = await temporaryFolder();
    await symlink(elsewhere, folder());
    await expect(write()).rejects.toThrow(
      /Cannot write TensorBoard files of .*: .*NotADirectoryError.* The run and its report are not affected\./,
    );
    expect(await readdir(elsewhere)).toEqual([]);
  });
});

it('need a Python that is there', async () => {
  vi.stubEnv('GENENV_PYTHON', join(run.home, 'no-python'));
  await expect(write()).rejects.toThrow('no-python is missing); run `node infra/setup/setup.mjs`');
  vi.unstubAllEnvs();
});
