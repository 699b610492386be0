import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { collectGarbage, planGarbage } from '../../src/runs/garbage-collection.ts';
import { shareHome } from '../../src/runs/connect-store.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { readCanary, writeCanary } from '../../src/store/canaries.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { canaryPath } from '../../src/store/object-paths.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { someStore } from './some-run.ts';
import type { Epoch } from './some-run.ts';
import { filesIn } from './temporary-folder.ts';

const newest = { last: 1, every: 0, best: false };
const key = (epoch: number, experiment = 'a', input = 'input') => ({
  experiment,
  epoch,
  phase: 'train-agent',
  inputHash: hashOf(input),
});
const old = (path: string) => utimes(path, new Date('2020-01-01'), new Date('2020-01-01'));

type Made = Awaited<ReturnType<typeof someStore>>;

/** The epochs whose checkpoint, and whose trainer state, is still there. */
async function remaining(
  { store }: Made,
  epochs: Epoch[],
): Promise<{ checkpoints: number[]; states: number[] }> {
  const which = async (pick: (epoch: Epoch) => Epoch['checkpoint']) =>
    (await Promise.all(epochs.map((epoch) => store.has(pick(epoch))))).flatMap((there, index) =>
      there ? [index] : [],
    );
  return {
    checkpoints: await which(({ checkpoint }) => checkpoint),
    states: await which(({ trainerState }) => trainerState),
  };
}

describe('retention', () => {
  test('keeps the first line, the newest, each n-th and the best, with what they start from', async () => {
    const made = await someStore();
    const { run, epochs } = await made.someRun('a', 9, (epoch) => (epoch === 5 ? 0.9 : 0.1));
    const report = await collectGarbage(made.store, [run], { keep: { last: 1, every: 3, best: true } });
    // Kept are 0, 3, 5, 6 and 8; the checkpoints they start from are 2, 4, 5 and 7.
    expect(await remaining(made, epochs)).toEqual({
      checkpoints: [0, 2, 3, 4, 5, 6, 7, 8],
      states: [0, 3, 5, 6, 8],
    });
    expect(report.bytes).toMatchObject({ checkpoint: 1000, trainer_state: 4000, unreferenced: 0 });
    expect(await verifyRun(made.store, run)).toMatchObject({ lines: 9, pruned: 5, problems: [] });
  });

  test('leaves a tombstone that says what was there, and no other object', async () => {
    const made = await someStore();
    const { run, epochs } = await made.someRun('a', 4);
    const pruned = epochs[1]?.checkpoint;
    if (pruned === undefined) throw new Error('the run has four epochs');
    await writeCanary(made.store.root, pruned, [{ prompt: [1] }]);
    await collectGarbage(made.store, [run], { keep: newest });
    await expect(made.store.check(pruned)).rejects.toThrow('pruned by `genenv gc`');
    const left = (await filesIn(made.store.root)).filter((name) => name.includes(pruned.sha256));
    expect(left).toEqual([`${pruned.uri.slice(0, -1)}.pruned.json`]);
    for (const { traces } of epochs) await made.store.check(traces);
    expect(await planGarbage(made.store, [run], { keep: newest, graceSeconds: 0 })).toEqual([]);
  });

  test('a checkpoint that is made again is whole again', async () => {
    const made = await someStore();
    const { run, epochs } = await made.someRun('a', 4);
    await collectGarbage(made.store, [run], { keep: newest });
    await made.epochObjects('a 1');
    await made.store.checkAll(epochs[1]);
    expect(
      (await filesIn(made.store.root)).some((name) =>
        name.includes(`${epochs[1]?.checkpoint.sha256 ?? ''}.pruned`),
      ),
    ).toBe(false);
  });

  test('a dry run says the same and removes nothing', async () => {
    const made = await someStore();
    const { run } = await made.someRun('a', 5);
    const before = await filesIn(made.root);
    const dry = await collectGarbage(made.store, [run], { keep: newest, dryRun: true });
    expect(await filesIn(made.root)).toEqual(before);
    const done = await collectGarbage(made.store, [run], { keep: newest });
    expect({ ...done, dryRun: true }).toEqual(dry);
    expect(dry.items.length).toBeGreaterThan(0);
  });

  test('what another run keeps stays', async () => {
    const made = await someStore();
    const a = await made.someRun('a', 5);
    const fork = await made.someRun(
      'fork',
      3,
      () => 0,
      async (epoch) => a.epochs[epoch] ?? made.epochObjects(`fork ${epoch}`),
    );
    await collectGarbage(made.store, [a.run, fork.run], { keep: newest });
    // The fork's newest line, 2, keeps its own outputs and the checkpoint of 1 that it starts from.
    expect(await remaining(made, a.epochs)).toEqual({ checkpoints: [0, 1, 2, 3, 4], states: [0, 2, 4] });
    expect((await verifyRun(made.store, fork.run)).problems).toEqual([]);
  });

  test('refuses to judge by a ledger that does not verify', async () => {
    const made = await someStore();
    const { run } = await made.someRun('a', 4);
    const before = await filesIn(made.root);
    await writeFile(run.experimentFile, '{}');
    await expect(collectGarbage(made.store, [run], { keep: newest, graceSeconds: 0 })).rejects.toThrow(
      InvalidArtifact,
    );
    await rm(run.experimentFile);
    await expect(collectGarbage(made.store, [run], { keep: newest, graceSeconds: 0 })).rejects.toThrow(
      InvalidArtifact,
    );
    expect(await filesIn(made.root)).toEqual(before.filter((name) => !name.endsWith('experiment.json')));
  });
});

describe('what nobody needs', () => {
  test('an object that no ledger and no key names goes, once it is old', async () => {
    const made = await someStore();
    const { run } = await made.someRun('a', 2);
    const [lost, recent] = [await made.store.putText('lost'), await made.store.putText('fresh')];
    await old(made.store.path(lost));
    const report = await collectGarbage(made.store, [run], { keep: newest });
    expect(report.items).toMatchObject([{ kind: 'unreferenced', path: made.store.path(lost), bytes: 4 }]);
    expect([await made.store.has(lost), await made.store.has(recent)]).toEqual([false, true]);
  });

  test('a checkpoint that no ledger names goes with its canary, one that is needed keeps it', async () => {
    const made = await someStore();
    const { root } = made.store;
    const { run, epochs } = await made.someRun('a', 2);
    const [lost, needed] = [await made.folder('lost'), epochs[1]!.checkpoint];
    for (const checkpoint of [lost, needed]) {
      await writeCanary(root, checkpoint, [{ prompt: [1] }]);
      await old(canaryPath(root, checkpoint));
    }
    const options = { keep: newest, graceSeconds: 0 };
    const { items } = await collectGarbage(made.store, [run], options);
    expect(items.map(({ path }) => path)).toContain(canaryPath(root, lost));
    expect(await readCanary(root, lost)).toBeUndefined();
    expect(await readCanary(root, needed)).toEqual([{ prompt: [1] }]);
    expect((await filesIn(made.root)).filter((name) => name.includes(lost.sha256))).toEqual([]);
  });

  test('an old object that is put again is young', async () => {
    const made = await someStore();
    const ref = await made.store.putText('lost');
    await old(made.store.path(ref));
    await made.store.putText('lost');
    expect(await planGarbage(made.store, [], { keep: newest })).toEqual([]);
  });

  test('what an epoch in flight, or an experiment not listed, has recorded stays whole', async () => {
    const made = await someStore();
    const { run, epochs } = await made.someRun('a', 4);
    const keys = new PhaseCache(made.store.root);
    const [inFlight, elsewhere] = [
      await made.epochObjects('in flight'),
      await made.epochObjects('elsewhere'),
    ];
    await keys.record(key(4), inFlight);
    await keys.record(key(1, 'elsewhere'), { ...elsewhere, base: epochs[1]?.trainerState });
    await collectGarbage(made.store, [run], { keep: newest, graceSeconds: 0 });
    await made.store.checkAll([inFlight, elsewhere]);
    expect(await remaining(made, epochs)).toEqual({ checkpoints: [0, 2, 3], states: [0, 1, 3] });
  });

  test('a key goes with the checkpoint it gave, and keeps what else it named', async () => {
    const made = await someStore();
    const { run, epochs } = await made.someRun('a', 4);
    const keys = new PhaseCache(made.store.root);
    const shard = await made.store.putText('a shard, in no ledger');
    await keys.record(key(1), epochs[1]);
    await keys.record({ ...key(1), phase: 'roll-out', shard: 2 }, { shard });
    const report = await collectGarbage(made.store, [run], { keep: newest, graceSeconds: 0 });
    expect(report.items.filter(({ kind }) => kind === 'key').map(({ path }) => path)).toEqual([
      keys.path(key(1)),
    ]);
    expect(await keys.lookup(key(1))).toBeUndefined();
    expect(
      await keys.lookup({ ...key(1), phase: 'roll-out', shard: 2 }, (value) => made.store.checkAll(value)),
    ).toEqual({ shard });
  });

  // Of a run in a bucket, a disk may have work that another host has finished.
  test.each(['on a disk', 'in a bucket'])(
    'finished work folders go; unfinished ones stay: %s',
    async (kind) => {
      await using s3 = await FakeS3.start();
      const made = await someStore((home) => {
        const folders = { store: join(home, 'store'), runs: join(home, 'runs') };
        if (kind === 'in a bucket') shareHome(s3.bucket(), folders);
      });
      const { run, epochs } = await made.someRun('a', 4);
      const finished = await openWork(made.store.root, key(4));
      const unfinished = await openWork(made.store.root, key(4, 'a', 'other'));
      const abandoned = await openWork(made.store.root, key(2));
      // A claim is a UUID, on the disk and in the bucket.
      await finished.claim();
      const claimed = kind === 'in a bucket' ? 72 : 36;
      await new PhaseCache(made.store.root).record(key(4), {});
      const batch = await made.store.putRecords([{ batch: 1 }]);
      const old1 = epochs[1]?.trainerState;
      if (old1 === undefined) throw new Error('the run has four epochs');
      await writeFile(join(finished.path, 'log.txt'), 'x'.repeat(100));
      await writeFile(
        join(unfinished.path, 'job.json'),
        JSON.stringify({ batch: made.store.path(batch), trainer_state: made.store.path(old1) }),
      );
      const waiting = await made.store.putRecords([{ batch: 2 }]);
      const waitingJob = join(abandoned.path, 'job.json');
      await writeFile(waitingJob, JSON.stringify({ batch: made.store.path(waiting) }));
      await Promise.all([made.store.path(batch), made.store.path(waiting), unfinished.path].map(old));
      const report = await collectGarbage(made.store, [run], { keep: newest });
      expect(report.bytes.work).toBe(100 + claimed);
      await made.store.checkAll([batch, old1, waiting]);
      await expect(stat(finished.path)).rejects.toThrow('ENOENT');
      await stat(unfinished.path);
      await stat(abandoned.path);
      const age = async () => {
        for (const path of ['fence/1', 'fence', 'job.json', '']) await old(join(abandoned.path, path));
      };
      await abandoned.claim();
      await age();
      await collectGarbage(made.store, [run], { keep: newest });
      // Another host may have claimed it a moment ago.
      const isThere = await stat(abandoned.path).then(
        () => true,
        () => false,
      );
      expect(isThere).toBe(kind === 'in a bucket');
      for (const object of s3.objects.values()) object.modified = new Date('2020-01-01');
      await collectGarbage(made.store, [run], { keep: newest });
      await expect(stat(abandoned.path)).rejects.toThrow('ENOENT');
    },
  );

  test('what killed processes left under temporary names goes, once it is old', async () => {
    const made = await someStore();
    const { run } = await made.someRun('a', 1);
    const name = (digit: number) => `.${String(digit).repeat(8)}-0000-4000-8000-000000000000.tmp`;
    const files = [
      join(made.store.root, 'objects', name(1)),
      join(run.path, name(2)),
      join(made.store.root, 'keys', 'a', '0001', 'train-agent', '02', name(3)),
    ];
    for (const file of files) {
      await mkdir(join(file, '..'), { recursive: true });
      await writeFile(file, 'torn');
    }
    expect(await planGarbage(made.store, [run], { keep: newest })).toEqual([]);
    await Promise.all(files.map(old));
    expect((await collectGarbage(made.store, [run], { keep: newest })).bytes.temporary).toBe(12);
    expect((await filesIn(made.root)).some((file) => file.includes('.tmp'))).toBe(false);
  });
});
