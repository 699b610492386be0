import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { shareHome } from '../../src/runs/connect-store.ts';
import { copyRun } from '../../src/runs/copy-run.ts';
import { cutLedger } from '../../src/runs/cut-ledger.ts';
import { collectGarbage } from '../../src/runs/garbage-collection.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { someStore } from './some-run.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { readCanary, writeCanary } from '../../src/store/canaries.ts';
import { limitCopies, removeExcessCopies } from '../../src/store/copies-limit.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { sharedBucket } from './shared-bucket.ts';
import { someKey } from './some-key.ts';
import { collect, filesIn, temporaryFolder } from './temporary-folder.ts';
import { hostsOf, line, sharedDisk, twoHostsContract } from './two-hosts.ts';

twoHostsContract('two hosts that share a disk', sharedDisk);
twoHostsContract('two hosts that share a bucket', sharedBucket);

describe('copies on the disk of a host', () => {
  test('a damaged copy is fetched again, and an object that is damaged in the bucket is made again', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const records = [{ text: 'some' }];
    const ref = await a.store.putRecords(records);
    await writeFile(a.store.path(ref), 'other bytes');
    expect(await collect(a.store.records(ref))).toEqual(records);
    const stored = shared.s3.objects.get(`team/store/${ref.uri}`)!;
    shared.s3.objects.set(`team/store/${ref.uri}`, { ...stored, data: Buffer.from('other bytes') });
    await expect(b.store.check(ref)).rejects.toThrow(/altered or torn/);
    await a.store.putRecords(records);
    await b.store.check(ref);
  });

  test('readers that find a copy damaged at once do not remove the object from the bucket', async () => {
    await using shared = await sharedBucket();
    const [a, b] = hostsOf(shared);
    const source = join(await temporaryFolder(), 'checkpoint');
    await mkdir(source);
    await writeFile(join(source, 'model.safetensors'), 'weights');
    const ref = await a.store.putFolder(source);
    for (let round = 0; round < 12; round += 1) {
      await a.store.check(ref);
      await writeFile(join(a.store.path(ref), 'model.safetensors'), 'damaged');
      const checks = Array.from({ length: 8 }, async (_, index) => {
        await sleep(index * (round % 4));
        await a.store.check(ref);
      });
      await Promise.all(checks);
    }
    await b.store.check(ref);
  });

  test('those that were used longest ago go, and come back when they are needed', async () => {
    await using shared = await sharedBucket();
    const [{ store, root }] = hostsOf(shared);
    const refs = [];
    for (const text of ['first', 'second', 'third']) refs.push(await store.putText(text.padEnd(1000)));
    limitCopies(root, 2500);
    await removeExcessCopies(root);
    expect(await filesIn(join(root, 'objects'))).toHaveLength(3);
    await removeExcessCopies(root, Date.now() + 3_600_000);
    expect(await filesIn(join(root, 'objects'))).toHaveLength(2);
    for (const ref of refs) await store.check(ref);
  });

  test('a host whose disk was emptied continues from the bucket', async () => {
    await using shared = await sharedBucket();
    const [a] = hostsOf(shared);
    const anchor = await a.run.writeExperiment({ name: 'some run' });
    await a.run.ledger(anchor).append(line(0));
    const ref = await a.store.putText('text');
    const before = await readFile(a.run.ledgerFile, 'utf8');
    for (const name of await readdir(a.home)) await rm(join(a.home, name), { recursive: true });
    const [again] = hostsOf(shared);
    expect(await again.store.text(ref)).toBe('text');
    expect((await again.run.open())?.sha256).toBe(anchor);
    await again.run.ledger(anchor).read();
    expect(await readFile(again.run.ledgerFile, 'utf8')).toBe(before);
  });

  test('a ledger whose copy was altered is read from the bucket, and the run is whole', async () => {
    await using shared = await sharedBucket();
    const [a] = hostsOf(shared);
    const anchor = await a.run.writeExperiment({ name: 'some run' });
    const ledger = a.run.ledger(anchor);
    for (let epoch = 0; epoch < 3; epoch += 1) await ledger.append(line(epoch));
    const copies = join(a.run.path, '.lines', 'ledger');
    const [first = ''] = (await readdir(copies)).sort();
    await writeFile(join(copies, first), '{"epoch":0}');
    expect((await ledger.read()).map(({ epoch }) => epoch)).toEqual([0, 1, 2]);
  });

  test('of two lines of an epoch with different content the second one is refused', async () => {
    await using shared = await sharedBucket();
    const hosts = hostsOf(shared);
    const anchor = await hosts[0].run.writeExperiment({ name: 'some run' });
    const appends = hosts.map(({ run }, metric) => run.ledger(anchor).append(line(0, metric)));
    const outcomes = await Promise.allSettled(appends);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('a run that was on the disk before the bucket is neither hidden nor removed: it is refused by name', async () => {
    const home = await temporaryFolder();
    const run = new RunFolder(join(home, 'runs'), 'early');
    const anchor = await run.writeExperiment({ name: 'early' });
    await run.ledger(anchor).append(line(0));
    const before = await readFile(run.ledgerFile, 'utf8');
    await using s3 = await FakeS3.start();
    shareHome(s3.bucket(), { store: join(home, 'store'), runs: join(home, 'runs') });
    await expect(run.open()).rejects.toThrow(/is on this disk, and not in the bucket.*genenv store copy/);
    await expect(run.writeExperiment({ name: 'early' })).rejects.toThrow(/is on this disk/);
    await expect(run.ledger(anchor).read()).rejects.toThrow(/is on this disk/);
    expect(await readFile(run.ledgerFile, 'utf8')).toBe(before);
  });

  test('what a server of a policy reads is not in the bucket, nor are journals', async () => {
    await using shared = await sharedBucket();
    const [{ root, store }] = hostsOf(shared);
    const work = await openWork(root, someKey());
    await work.claim();
    await writeFile(join(work.path, 'requests.jsonl'), 'entry');
    await store.putText('text');
    expect([...shared.s3.objects.keys()].map((key) => key.split('/').slice(0, 3).join('/')).sort()).toEqual([
      'team/store/objects',
      'team/store/work',
    ]);
    await work.remove();
    expect([...shared.s3.objects.keys()].filter((key) => key.includes('/work/'))).toEqual([]);
  });

  test('an object is put with one request, and read again without any', async () => {
    await using shared = await sharedBucket();
    const [{ store }] = hostsOf(shared);
    const ref = await store.putRecords([{ text: 'some' }]);
    await store.check(ref);
    expect(await new ObjectStore(store.root).text(ref)).toBe('{"text":"some"}\n');
    expect(shared.s3.counts).toEqual({ PUT: 1 });
  });
});

describe('retention in a bucket', () => {
  test('what is not kept goes from it, tombstones stay, and the other host knows', async () => {
    await using s3 = await FakeS3.start();
    const share = (home: string): void =>
      shareHome(s3.bucket(), { store: join(home, 'store'), runs: join(home, 'runs') });
    const made = await someStore(share);
    const { run, epochs } = await made.someRun('a', 5);
    const keys = new PhaseCache(made.store.root);
    await keys.record(someKey({ experiment: 'a', epoch: 2 }), epochs[2]!.checkpoint);
    const work = await openWork(made.store.root, someKey({ experiment: 'a', epoch: 2 }));
    await work.claim();
    const unreferenced = await made.store.putText('nobody names it');
    const stored = s3.objects.get(`store/${unreferenced.uri}`)!;
    s3.objects.set(`store/${unreferenced.uri}`, { ...stored, modified: new Date(0) });
    const keep = { last: 1, every: 0, best: false };
    const planned = await collectGarbage(made.store, [run], { keep, dryRun: true });
    const report = await collectGarbage(made.store, [run], { keep });
    expect(report.bytes).toEqual(planned.bytes);
    expect(report.bytes).toMatchObject({ checkpoint: 2000, trainer_state: 3000, unreferenced: 15 });
    expect(report.items.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['key', 'work']));
    const left = [...s3.objects.keys()];
    const pruned = `store/objects/${epochs[1]!.checkpoint.sha256.slice(0, 2)}/${epochs[1]!.checkpoint.sha256}`;
    expect(left.filter((key) => key.startsWith(pruned))).toEqual([`${pruned}.pruned.json`]);
    const second = await temporaryFolder();
    share(second);
    const seen = await verifyRun(
      new ObjectStore(join(second, 'store')),
      new RunFolder(join(second, 'runs'), 'a'),
    );
    expect(seen).toMatchObject({ lines: 5, pruned: 5, problems: [] });
    expect((await collectGarbage(made.store, [run], { keep })).items).toEqual([]);
  });
});

describe('a run that is copied between stores', () => {
  test('is the same in the bucket, and the same when it comes back', async () => {
    await using s3 = await FakeS3.start();
    const made = await someStore();
    const { run, ledger, epochs } = await made.someRun('a', 5);
    await new PhaseCache(made.store.root).record(someKey({ experiment: 'a' }), epochs[4]!.checkpoint);
    await run.appendEvent({ type: 'started' });
    await writeCanary(made.store.root, epochs[4]!.checkpoint, { text: 'canary' });
    await collectGarbage(made.store, [run], { keep: { last: 1, every: 0, best: false } });
    await cutLedger(run, ledger, 4, { reason: 'test' });
    const before = await readFile(run.ledgerFile, 'utf8');
    const [hosted, back] = [await temporaryFolder(), await temporaryFolder()];
    shareHome(s3.bucket(), { store: join(hosted, 'store'), runs: join(hosted, 'runs') });
    const expected = await verifyRun(made.store, run);
    expect(expected).toMatchObject({ lines: 4, pruned: 5, problems: [] });
    expect(await copyRun('a', made.root, hosted)).toMatchObject(expected);
    const requests = s3.counts.PUT!;
    expect(await copyRun('a', made.root, hosted)).toMatchObject(expected);
    expect([...s3.objects.keys()].filter((key) => key.startsWith('runs/a/events/'))).toHaveLength(1);
    expect(s3.counts.PUT! - requests).toBeLessThan(requests);
    expect(await copyRun('a', hosted, back)).toMatchObject(expected);
    const copy = new RunFolder(join(back, 'runs'), 'a');
    expect(await readFile(copy.ledgerFile, 'utf8')).toBe(before);
    expect(await readFile(join(copy.branchesFolder, '0001', 'ledger.jsonl'), 'utf8')).toMatch(/"epoch":4/);
    const store = join(back, 'store');
    expect(await new PhaseCache(store).lookup(someKey({ experiment: 'a' }))).toEqual(epochs[4]!.checkpoint);
    expect(await readCanary(store, epochs[4]!.checkpoint)).toEqual({ text: 'canary' });
    await expect(copyRun('b', made.root, hosted)).rejects.toThrow(/there is no run "b"/);
  });

  test('takes the place of no other run, and of none that has continued', async () => {
    const [made, target] = [await someStore(), await someStore()];
    await made.someRun('a', 2);
    const { run, ledger } = await target.someRun('a', 3);
    await run.writeRetunes([{ fromEpoch: 2, set: { epochs: 9 }, time: '2026-01-01T00:00:00.000Z' }]);
    const files = [run.experimentFile, run.ledgerFile, run.retunesFile];
    const contents = () => Promise.all(files.map((file) => readFile(file, 'utf8')));
    const before = await contents();
    await expect(copyRun('a', made.root, target.root)).rejects.toThrow(/run: "a": line 3 of the ledger in/);
    expect(await contents()).toEqual(before);
    const anchor = await run.writeExperiment({ name: 'another' });
    await cutLedger(run, ledger, 0, { reason: 'test' });
    await run.ledger(anchor).append(line(0));
    const another = await contents();
    await expect(copyRun('a', made.root, target.root)).rejects.toThrow(/another experiment file/);
    expect(await contents()).toEqual(another);
  });
});
