import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { cutLedger } from '../../src/runs/cut-ledger.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { LedgerConflict, Superseded } from '../../src/store/errors.ts';
import type { LedgerBody } from '../../src/store/ledger-chain.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { someKey } from './some-key.ts';
import { collect, temporaryFolder } from './temporary-folder.ts';

/** Home folders of two hosts that work on the same runs. */
export type TwoHomes = { homes: [string, string]; [Symbol.asyncDispose](): Promise<void> };

export const hostsOf = ({ homes }: TwoHomes) =>
  homes.map((home) => ({
    home,
    store: new ObjectStore(join(home, 'store')),
    keys: new PhaseCache(join(home, 'store')),
    root: join(home, 'store'),
    run: new RunFolder(join(home, 'runs'), 'some-run'),
  })) as [Host, Host];
export type Host = { home: string; store: ObjectStore; keys: PhaseCache; root: string; run: RunFolder };

export const line = (epoch: number, metric = epoch): LedgerBody => ({
  epoch,
  inputs: {},
  outputs: {},
  metrics: { metric },
});

/** What the store promises to hosts that work on the same runs, whatever is behind their home folders. */
export function twoHostsContract(name: string, open: () => Promise<TwoHomes>): void {
  describe(name, () => {
    test('what one host puts, the other one reads', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      const records = [{ text: 'a\u2028b' }, { text: 'c' }];
      const ref = await a.store.putRecords(records);
      expect(await collect(b.store.records(ref))).toEqual(records);
      const json = await b.store.putJson({ b: 1 });
      expect(await a.store.json(json)).toEqual({ b: 1 });
      const source = join(await temporaryFolder(), 'checkpoint');
      await mkdir(join(source, 'tokenizer'), { recursive: true });
      await writeFile(join(source, 'model.safetensors'), randomBytes(9 << 20));
      await writeFile(join(source, 'tokenizer', 'vocab.txt'), 'a\nb\n');
      const folder = await a.store.putFolder(source);
      await b.store.checkAll({ folder });
      const copy = await b.store.localPath(folder);
      expect(await readFile(join(copy, 'tokenizer', 'vocab.txt'), 'utf8')).toBe('a\nb\n');
      // Both put the same at the same time.
      expect(await Promise.all([a, b].map(({ store }) => store.putFolder(source)))).toEqual([folder, folder]);
      await a.store.check(folder);
      const missing = { ...ref, uri: ref.uri.replace(ref.sha256, '0'.repeat(64)).replace(/s\/../, 's/00') };
      await expect(b.store.check({ ...missing, sha256: '0'.repeat(64) })).rejects.toThrow(/missing/);
    });

    test('of two results of a phase the first is kept, and both hosts find it', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      expect(await b.keys.lookup(someKey())).toBeUndefined();
      const kept = await Promise.all([a.keys.record(someKey(), 'a'), b.keys.record(someKey(), 'b')]);
      expect(kept[0]).toBe(kept[1]);
      expect(await a.keys.lookup(someKey())).toBe(kept[0]);
      expect(await b.keys.lookup(someKey())).toBe(kept[0]);
    });

    test('two claims at once get two numbers, and only the newest one may write', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      const [first, second] = await Promise.all([openWork(a.root, someKey()), openWork(b.root, someKey())]);
      const tokens = await Promise.all([first.claim(), second.claim()]);
      expect(tokens.map(({ number }) => number).sort()).toEqual([1, 2]);
      // A bucket is asked now and then.
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
      try {
        const [older, newer] = tokens.sort((first, next) => first.number - next.number);
        await expect(older.assertCurrent()).rejects.toThrow(Superseded);
        await newer.assertCurrent();
      } finally {
        vi.useRealTimers();
      }
      await first.remove();
      expect((await (await openWork(b.root, someKey({ epoch: 8 }))).claim()).number).toBe(1);
    });

    test('both hosts write one ledger, and an epoch has one line', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      const anchor = await a.run.writeExperiment({ name: 'some run' });
      expect((await b.run.readExperiment())?.sha256).toBe(anchor);
      const ledgers = [a, b].map(({ run }) => run.ledger(anchor)) as [
        ReturnType<RunFolder['ledger']>,
        ReturnType<RunFolder['ledger']>,
      ];
      for (let epoch = 0; epoch < 6; epoch += 1) await ledgers[epoch % 2]!.append(line(epoch));
      expect((await ledgers[1].read()).map(({ epoch }) => epoch)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(await ledgers[0].append(line(5))).toMatchObject({ epoch: 5 });
      await expect(ledgers[0].append(line(5, 9))).rejects.toThrow(LedgerConflict);
      await Promise.all(ledgers.map((ledger) => ledger.read()));
      const [fromA, fromB] = await Promise.all([a, b].map(({ run }) => readFile(run.ledgerFile, 'utf8')));
      expect(fromA).toBe(fromB);
    });

    test('events and metrics of both hosts are those of the run', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      await expect(b.run.appendEvent({ type: 'started' })).rejects.toThrow(/there is no run/);
      await a.run.writeExperiment({ name: 'some run' });
      await a.run.appendEvent({ type: 'started', time: '2026-01-01T00:00:00.000Z' });
      await b.run.appendEvent({ type: 'resumed' });
      expect((await a.run.events()).map(({ type }) => type)).toEqual(['started', 'resumed']);
      const metrics = (epoch: number, value: number) => ({
        epoch,
        at: '2026-01-01T00:00:00.000Z',
        metrics: { loss: value },
        time: {},
      });
      await a.run.appendMetrics(metrics(0, 1));
      await b.run.appendMetrics(metrics(1, 2));
      await a.run.appendMetrics(metrics(1, 3));
      expect((await b.run.metrics()).map((entry) => entry.metrics?.loss)).toEqual([1, 2]);
      expect((await a.run.lastMetrics())?.metrics?.loss).toBe(2);
      expect((await RunFolder.list(join(b.home, 'runs'))).map(({ id }) => id)).toEqual(['some-run']);
    });

    test('a host sees that another one has cut the ledger, and what was cut', async () => {
      await using homes = await open();
      const [a, b] = hostsOf(homes);
      const anchor = await a.run.writeExperiment({ name: 'some run' });
      const ledger = a.run.ledger(anchor);
      for (let epoch = 0; epoch < 4; epoch += 1) await ledger.append(line(epoch));
      const seen = b.run.ledger(anchor);
      await seen.read();
      const branch = await cutLedger(a.run, ledger, 2, { reason: 'test' });
      expect((await seen.read()).map(({ epoch }) => epoch)).toEqual([0, 1]);
      await seen.append(line(2, 7));
      expect((await ledger.read()).at(-1)?.metrics).toEqual({ metric: 7 });
      const second = await cutLedger(b.run, seen, 1, { reason: 'test' });
      expect([branch.name, second.name]).toEqual(['0001', '0002']);
      expect(await readFile(join(b.run.branchesFolder, '0001', 'ledger.jsonl'), 'utf8')).toMatch(/"epoch":3/);
    });
  });
}

/** Homes on a disk that both hosts have. */
export async function sharedDisk(): Promise<TwoHomes> {
  const home = await temporaryFolder();
  return { homes: [home, home], [Symbol.asyncDispose]: () => Promise.resolve() };
}
