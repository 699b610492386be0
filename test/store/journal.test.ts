import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Superseded } from '../../src/store/errors.ts';
import type { Damage } from '../../src/store/errors.ts';
import { Journal } from '../../src/store/journal.ts';
import { entriesOf, memoryFolder } from './temporary-folder.ts';

const entries = [
  { request: 0, text: 'première' },
  { request: 1, token_ids: [1, 2] },
  { request: 2, text: '' },
  { request: 3 },
];

async function written(path: string, values: unknown[]): Promise<Buffer> {
  const journal = await Journal.open<unknown>(path);
  for (const value of values) await journal.append(value);
  await journal.close();
  return readFile(path);
}

/** What opening gives, before and after one more entry. */
async function reopened(
  path: string,
): Promise<{ entriesBefore: unknown[]; after: unknown[]; said: Damage[] }> {
  const said: Damage[] = [];
  const journal = await Journal.open<unknown>(path, { onDamage: (damage) => said.push(damage) });
  const entriesBefore = [...journal.entries];
  await journal.append('more');
  await journal.close();
  const again = await Journal.open<unknown>(path, { onDamage: (damage) => said.push(damage) });
  await again.close();
  return { entriesBefore, after: again.entries, said };
}

const completeLines = (data: Buffer, length: number) =>
  data.subarray(0, length).toString('latin1').split('\n').length - 1;

test('cut at any byte, it holds the entries that were complete, and continues after them', async () => {
  const path = join(await memoryFolder(), 'requests.jsonl');
  const data = await written(path, entries);
  for (let length = 0; length <= data.length; length += 1) {
    await writeFile(path, data.subarray(0, length));
    const { entriesBefore, after, said } = await reopened(path);
    const complete = entries.slice(0, completeLines(data, length));
    expect(entriesBefore).toEqual(complete);
    expect(after).toEqual([...complete, 'more']);
    expect(said).toEqual([]);
  }
});

test('the same for any entries and any tail that a power cut may leave', async () => {
  const path = join(await memoryFolder(), 'requests.jsonl');
  const tails = fc.constantFrom(Buffer.alloc(0), Buffer.alloc(40), Buffer.from('3f'), Buffer.from('{"a":'));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue({ stringUnit: 'binary' }), { maxLength: 5 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      tails,
      async (values, share, tail) => {
        await writeFile(path, '');
        const data = await written(path, values);
        const length = Math.floor(share * data.length);
        await writeFile(path, Buffer.concat([data.subarray(0, length), tail]));
        const { entriesBefore, after } = await reopened(path);
        const complete = JSON.parse(
          JSON.stringify(values.slice(0, completeLines(data, length))),
        ) as unknown[];
        expect(entriesBefore).toEqual(complete);
        expect(after).toEqual([...complete, 'more']);
      },
    ),
    { numRuns: 60 },
  );
});

test('a flipped bit anywhere cuts from its line on, and is said', async () => {
  const path = join(await memoryFolder(), 'requests.jsonl');
  const data = await written(path, entries);
  for (let at = 0; at < data.length - 1; at += 1) {
    const flipped = Buffer.from(data);
    flipped[at] = (flipped[at] ?? 0) ^ 4;
    await writeFile(path, flipped);
    const { entriesBefore, after, said } = await reopened(path);
    const complete = entries.slice(0, completeLines(data, at));
    expect(entriesBefore).toEqual(complete);
    expect(after).toEqual([...complete, 'more']);
    // Without its newline the last line is no more than a torn one.
    if (completeLines(data, at) < entries.length - 1) expect(said).toMatchObject([{ file: path }]);
  }
});

test('concurrent entries are all there, in the order they were given', async () => {
  const path = join(await memoryFolder(), 'requests.jsonl');
  const journal = await Journal.open<number>(path);
  const numbers = Array.from({ length: 40 }, (_, index) => index);
  await Promise.all(numbers.map((index) => journal.append(index)));
  await journal.close();
  expect(await entriesOf(path)).toEqual(numbers);
});

test('an attempt that was superseded adds nothing', async () => {
  const path = join(await memoryFolder(), 'requests.jsonl');
  const journal = await Journal.open<number>(path, {
    assertCurrent: () => Promise.reject(new Superseded('attempt 2')),
  });
  await expect(journal.append(1)).rejects.toThrow(Superseded);
  await journal.close();
  expect(await readFile(path, 'utf8')).toBe('');
  expect(journal.entries).toEqual([]);
});
