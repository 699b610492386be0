import { appendFile, open, readFile, rm, writeFile } from 'node:fs/promises';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { hashOf, sha256 } from '../../src/store/canonical-json.ts';
import { InvalidArtifact, LedgerConflict, Superseded } from '../../src/store/errors.ts';
import type { LedgerBody } from '../../src/store/ledger-chain.ts';
import { Ledger } from '../../src/store/ledger.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { memoryFolder } from './temporary-folder.ts';

const anchor = hashOf({ seed: 1 });
const body = (epoch: number, over: Partial<LedgerBody> = {}): LedgerBody => ({
  epoch,
  inputs: { seed: 1 },
  outputs: { names: [`agent@${epoch}`] },
  metrics: { 'env/success_rate': 0.5 },
  ...over,
});

async function ledgerOf(epochs: number): Promise<Ledger> {
  const ledger = new Ledger(join(await memoryFolder(), 'ledger.jsonl'), anchor);
  for (let epoch = 0; epoch < epochs; epoch += 1) await ledger.append(body(epoch));
  return ledger;
}

const again = (ledger: Ledger) => new Ledger(ledger.file, ledger.anchor);
const headOf = (ledger: Ledger) => ledger.file.replace('.jsonl', '.head.json');

describe('the chain', () => {
  test('each line has the hash of the bytes of the one before, the first that of the experiment', async () => {
    const ledger = await ledgerOf(3);
    const lines = (await readFile(ledger.file, 'utf8')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { previous: string }).previous)).toEqual([
      anchor,
      sha256(lines[0] ?? ''),
      sha256(lines[1] ?? ''),
    ]);
    expect((await again(ledger).read()).map(({ epoch }) => epoch)).toEqual([0, 1, 2]);
    expect(await again(ledger).head()).toMatchObject({ line: { epoch: 2 }, sha256: sha256(lines[2] ?? '') });
  });

  test('the same epochs give the same bytes', async () => {
    expect(await readFile((await ledgerOf(3)).file)).toEqual(await readFile((await ledgerOf(3)).file));
  });

  test('before the first line there is nothing', async () => {
    const ledger = await ledgerOf(0);
    expect([await ledger.read(), await ledger.head()]).toEqual([[], undefined]);
  });
});

describe('appending', () => {
  test('the same epoch with the same content is the line that is there', async () => {
    const ledger = await ledgerOf(3);
    const before = await readFile(ledger.file);
    expect(await again(ledger).append(body(1))).toEqual((await ledger.read())[1]);
    expect(await again(ledger).append(body(2))).toEqual((await ledger.read())[2]);
    expect(await readFile(ledger.file)).toEqual(before);
  });

  test('the same epoch with other content is a conflict', async () => {
    const ledger = await ledgerOf(3);
    for (const epoch of [0, 2])
      await expect(
        again(ledger).append(body(epoch, { metrics: { 'env/success_rate': 0.6 } })),
      ).rejects.toThrow(LedgerConflict);
    expect(await ledger.read()).toHaveLength(3);
  });

  test.each([4, 7, -1, 2.5, NaN])('epoch %s after epoch 2 is refused', async (epoch) => {
    const ledger = await ledgerOf(3);
    const gone = `the lines of epochs 3 to ${epoch - 1} are gone`;
    const refusal = epoch > 2.5 ? gone : InvalidConfig;
    await expect(ledger.append(body(epoch))).rejects.toThrow(Number.isNaN(epoch) ? 'found NaN' : refusal);
    expect(await ledger.read()).toHaveLength(3);
  });

  test('an attempt that was superseded writes nothing', async () => {
    const ledger = await ledgerOf(1);
    await expect(ledger.append(body(1), () => Promise.reject(new Superseded('attempt 2')))).rejects.toThrow(
      Superseded,
    );
    expect(await ledger.read()).toHaveLength(1);
    expect(await ledger.append(body(1), () => Promise.resolve())).toMatchObject({ epoch: 1 });
  });

  test('takes nothing from those who wrote while it stood still', async () => {
    const ledger = await ledgerOf(2);
    const handle = await open(ledger.file);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const originalStat = Reflect.get(prototype, 'stat') as (options?: object) => Promise<BigIntStats>;
    let spy: { mockRestore(): void } | undefined;
    let looks = 0;
    const standing = await ledger.append(body(2), () => {
      spy ??= vi.spyOn(prototype, 'stat').mockImplementation(async function (this: FileHandle, options) {
        const stats = await originalStat.call(this, options);
        looks += 1;
        // Opening looks whether it is a plain file; the second look is at the size, before the write.
        if (looks === 2) {
          await again(ledger).append(body(2));
          await again(ledger).append(body(3));
        }
        return stats;
      });
      return Promise.resolve();
    });
    spy?.mockRestore();
    const lines = await again(ledger).read();
    expect(lines.map(({ epoch }) => epoch)).toEqual([0, 1, 2, 3]);
    expect(standing).toEqual(lines[2]);
    expect(await again(ledger).head()).toMatchObject({ line: { epoch: 3 } });
  });

  test('concurrent appends are written in the order they were asked for', async () => {
    const ledger = await ledgerOf(1);
    await Promise.all([1, 2, 3].map((epoch) => ledger.append(body(epoch))));
    expect(await again(ledger).read()).toHaveLength(4);
  });

  test('concurrent appends of one line leave one line', async () => {
    const ledger = await ledgerOf(1);
    await Promise.all([ledger.append(body(1)), again(ledger).append(body(1)), again(ledger).append(body(1))]);
    expect(await again(ledger).read()).toHaveLength(2);
  });

  test.each([true, false])(
    'a line torn at any byte is passed over, and written again with the same bytes (its hash noted: %s)',
    async (noted) => {
      const ledger = await ledgerOf(3);
      const intact = await readFile(ledger.file);
      const start = intact.lastIndexOf('\n', intact.length - 2) + 1;
      const head = await readFile(headOf(ledger));
      for (let length = start + 1; length < intact.length; length += 1) {
        await writeFile(ledger.file, intact.subarray(0, length));
        await (noted ? writeFile(headOf(ledger), head) : rm(headOf(ledger), { force: true }));
        expect(await again(ledger).read()).toHaveLength(2);
        expect((await readFile(ledger.file)).length).toBe(length);
        if (length % 16 === 0) {
          await again(ledger).append(body(2));
          expect(await readFile(ledger.file)).toEqual(intact);
        }
      }
    },
  );

  test('a torn line whose hash was noted cannot be replaced by another', async () => {
    const ledger = await ledgerOf(2);
    const intact = await readFile(ledger.file);
    await writeFile(ledger.file, intact.subarray(0, intact.length - 4));
    await expect(again(ledger).append(body(1, { notes: 'other' }))).rejects.toThrow(LedgerConflict);
    await again(ledger).append(body(1));
    expect(await readFile(ledger.file)).toEqual(intact);
  });

  test('a process killed between the line and the note of its hash is forgiven', async () => {
    const ledger = await ledgerOf(2);
    const head = await readFile(headOf(ledger));
    await ledger.append(body(2));
    await writeFile(headOf(ledger), head);
    expect(await again(ledger).read()).toHaveLength(3);
    await again(ledger).append(body(2));
    expect(await readFile(headOf(ledger))).not.toEqual(head);
  });
});

describe('a doctored ledger', () => {
  test('is detected at every bit of every byte, the last line included', async () => {
    const ledger = await ledgerOf(3);
    const intact = await readFile(ledger.file);
    for (let at = 0; at < intact.length - 1; at += 1) {
      const doctored = Buffer.from(intact);
      doctored[at] = (doctored[at] ?? 0) ^ (1 << (at % 8));
      await writeFile(ledger.file, doctored);
      const problem = await again(ledger)
        .read()
        .catch((error: unknown) => error);
      expect(problem).toBeInstanceOf(InvalidArtifact);
      expect(problem).toMatchObject({ file: ledger.file });
      await expect(again(ledger).append(body(3))).rejects.toThrow(InvalidArtifact);
    }
  });

  test.each([0, 1, 2])('line %s with a better metric and canonical bytes is named', async (index) => {
    const ledger = await ledgerOf(3);
    const lines = (await readFile(ledger.file, 'utf8')).split('\n');
    lines[index] = (lines[index] ?? '').replace('0.5', '0.9');
    await writeFile(ledger.file, lines.join('\n'));
    await expect(again(ledger).read()).rejects.toThrow(`line ${index + 1}`);
  });

  test('a line that is not canonical JSON is refused, whatever it says', async () => {
    const ledger = await ledgerOf(2);
    await writeFile(ledger.file, (await readFile(ledger.file, 'utf8')).replace('"inputs":{', '"inputs": {'));
    await expect(again(ledger).read()).rejects.toThrow('line 1 is no ledger line in canonical JSON');
  });

  test('lines that were taken out, repeated or cut off are detected', async () => {
    const ledger = await ledgerOf(3);
    const [a = '', b = '', c = ''] = (await readFile(ledger.file, 'utf8')).split('\n');
    for (const lines of [[b, c], [a, c], [a, b], [a, b, b, c], [a, b, c, c], []]) {
      await writeFile(ledger.file, lines.map((line) => `${line}\n`).join(''));
      await expect(again(ledger).read()).rejects.toThrow(InvalidArtifact);
    }
  });

  test('another experiment cannot take it for its own', async () => {
    const ledger = await ledgerOf(2);
    await expect(new Ledger(ledger.file, hashOf({ seed: 2 })).read()).rejects.toThrow(
      'does not start from this experiment file',
    );
  });

  test('garbage after the last line is no line, and goes with the next append', async () => {
    const ledger = await ledgerOf(2);
    await appendFile(ledger.file, '{"epoch":2,"in');
    await again(ledger).append(body(2));
    expect(await again(ledger).read()).toHaveLength(3);
  });
});
