import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { someKey } from './some-key.ts';
import { collect, filesIn, leftovers, temporaryFolder } from './temporary-folder.ts';

/** Runs a process that is killed right before the n-th of its file system calls of this name. */
function killedBefore(call: string, times: number, what: string, root: string): void {
  const { signal, stdout, stderr } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, 'processes', 'killed.ts'), what, call, String(times), root],
    { encoding: 'utf8' },
  );
  expect({ signal, stdout, stderr }).toMatchObject({ signal: 'SIGKILL', stdout: '' });
}

describe('a process that is killed', () => {
  test('between writing and naming records leaves none, and the next one stores them', async () => {
    const store = new ObjectStore(await temporaryFolder());
    killedBefore('rename', 1, 'records', store.root);
    expect((await filesIn(store.root)).filter((name) => !name.includes('.tmp'))).toEqual([]);
    expect(await leftovers(store.root)).toHaveLength(1);
    const ref = await store.putRecords([{ a: 1 }, { a: 2 }]);
    expect(await collect(store.records(ref))).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test.each([1, 2])('before name %s of a folder has lost no file of it', async (times) => {
    const store = new ObjectStore(await temporaryFolder());
    await mkdir(join(store.root, 'output'));
    await writeFile(join(store.root, 'output', 'model.safetensors'), 'weights');
    killedBefore('rename', times, 'folder', store.root);
    const ref = await store.putFolder(join(store.root, 'output'), { move: true });
    await store.check(ref);
    expect(await readFile(join(store.path(ref), 'model.safetensors'), 'utf8')).toBe('weights');
  });

  test('before naming a record leaves the key free', async () => {
    const keys = new PhaseCache(await temporaryFolder());
    killedBefore('link', 1, 'key', keys.root);
    expect(await keys.lookup(someKey())).toBeUndefined();
    expect(await keys.record(someKey(), { done: 2 })).toEqual({ done: 2 });
  });

  // Naming: the experiment file, then the head after each line.
  test.each([
    [2, 1],
    [3, 2],
  ])('before naming file %i of a run leaves a ledger of %i lines that continues', async (times, lines) => {
    const run = new RunFolder(await temporaryFolder(), 'run');
    killedBefore('rename', times, 'ledger', join(run.path, '..'));
    const ledger = run.ledger((await run.readExperiment())?.sha256 ?? '');
    expect(await ledger.read()).toHaveLength(lines);
    for (const epoch of [0, 1, 2]) await ledger.append({ epoch, inputs: {}, outputs: {}, metrics: {} });
    expect(await ledger.read()).toHaveLength(3);
  });
});
