import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { InvalidArtifact, LedgerConflict } from '../../src/store/errors.ts';
import type { LedgerBody } from '../../src/store/ledger-chain.ts';
import { Ledger } from '../../src/store/ledger.ts';
import { memoryFolder } from './temporary-folder.ts';

const { appendFile, copyFile, readFile, stat, utimes, writeFile } = fs.promises;
const anchor = hashOf({ seed: 1 });
const body = (epoch: number, rate = 0.5): LedgerBody => ({
  epoch,
  inputs: {},
  outputs: {},
  metrics: { 'env/success_rate': rate },
});
const again = (ledger: Ledger): Ledger => new Ledger(ledger.file, ledger.anchor);
const headOf = (ledger: Ledger): string => ledger.file.replace('.jsonl', '.head.json');

/** Opened anew for each epoch, as commits do it. */
async function ledgerOf(epochs: number): Promise<Ledger> {
  const ledger = new Ledger(join(await memoryFolder(), 'ledger.jsonl'), anchor);
  for (let epoch = 0; epoch < epochs; epoch += 1) await again(ledger).append(body(epoch));
  return ledger;
}

/** Counts the readings of a file from its beginning, of whatever instance. */
function readings(file: string): () => number {
  const original = fs.promises.open;
  let count = 0;
  fs.promises.open = async (...args: Parameters<typeof original>) => {
    const handle = await original(...args);
    const readSome = handle.read.bind(handle);
    const countAndRead = (buffer: Buffer, offset: number, length: number, position: number) => {
      if (args[0] === file && position === 0) count += 1;
      return readSome(buffer, offset, length, position);
    };
    Object.assign(handle, { read: countAndRead });
    return handle;
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    fs.promises.open = original;
    syncBuiltinESMExports();
  });
  return () => count;
}

test('a ledger is verified whole once, not for each epoch', async () => {
  const ledger = await ledgerOf(2);
  const read = readings(ledger.file);
  for (let epoch = 2; epoch <= 50; epoch += 1) await again(ledger).append(body(epoch));
  expect(read()).toBe(0);
  expect(await ledger.read()).toHaveLength(51);
  expect(read()).toBe(1);
});

test('what another process added is seen: the same line is found, another is a conflict, the next follows', async () => {
  const ledger = await ledgerOf(3);
  const copy = new Ledger(join(await memoryFolder(), 'ledger.jsonl'), anchor);
  await Promise.all([copyFile(ledger.file, copy.file), copyFile(headOf(ledger), headOf(copy))]);
  await copy.append(body(3));
  await Promise.all([copyFile(copy.file, ledger.file), copyFile(headOf(copy), headOf(ledger))]);
  expect(await again(ledger).append(body(3))).toEqual((await copy.read())[3]);
  await expect(again(ledger).append(body(3, 0.6))).rejects.toThrow(LedgerConflict);
  await again(ledger).append(body(4));
  expect(await again(ledger).read()).toHaveLength(5);
});

test.each([0, 1, 2])(
  'line %i altered under the run is noticed, though it is canonical JSON of the same size and time',
  async (index) => {
    const ledger = await ledgerOf(3);
    const { atime, mtime } = await stat(ledger.file);
    const lines = (await readFile(ledger.file, 'utf8')).split('\n');
    lines[index] = lines[index]!.replace('0.5', '0.9');
    // Beyond the grain of a file system's clock.
    await new Promise((resolve) => setTimeout(resolve, 30));
    await writeFile(ledger.file, lines.join('\n'));
    await utimes(ledger.file, atime, mtime);
    await expect(again(ledger).append(body(3))).rejects.toThrow(`line ${index + 1}`);
  },
);

test('a last line altered right after it was written is noticed', async () => {
  for (let round = 0; round < 20; round += 1) {
    const ledger = await ledgerOf(2);
    const text = await readFile(ledger.file, 'utf8');
    const at = text.lastIndexOf('0.5');
    fs.writeFileSync(ledger.file, `${text.slice(0, at)}0.9${text.slice(at + 3)}`);
    await expect(again(ledger).append(body(2))).rejects.toThrow(InvalidArtifact);
  }
});

test('a damaged note of the last line is noticed', async () => {
  const ledger = await ledgerOf(2);
  await writeFile(headOf(ledger), JSON.stringify({ epoch: 1, sha256: hashOf('other') }));
  await expect(again(ledger).append(body(2))).rejects.toThrow(InvalidArtifact);
  await writeFile(headOf(ledger), '{');
  await expect(again(ledger).append(body(2))).rejects.toThrow(InvalidArtifact);
});

test('a line that was torn under the run is cut', async () => {
  const ledger = await ledgerOf(2);
  await appendFile(ledger.file, '{"epoch":2,"in');
  await again(ledger).append(body(2));
  expect(await again(ledger).read()).toHaveLength(3);
});

test('a ledger that was removed under the run is noticed', async () => {
  const ledger = await ledgerOf(2);
  fs.rmSync(ledger.file);
  await expect(again(ledger).append(body(2))).rejects.toThrow(InvalidArtifact);
});

test('an epoch far back or far on in a long file of metrics still has one line', async () => {
  const run = new RunFolder(await memoryFolder(), 'long');
  await run.writeExperiment({});
  const text = 'x'.repeat(5000);
  for (let epoch = 0; epoch < 60; epoch += 1) await run.appendMetrics({ epoch, text });
  const read = readings(run.metricsFile);
  for (const epoch of [59, 30, 60]) await run.appendMetrics({ epoch, again: true });
  expect(read()).toBe(0);
  await run.appendMetrics({ epoch: 0, again: true });
  expect((await run.metrics()).map(({ epoch }) => epoch)).toEqual(
    Array.from({ length: 61 }, (_, epoch) => epoch),
  );
  expect((await run.metrics()).filter((line) => 'again' in line).map(({ epoch }) => epoch)).toEqual([60]);
});
