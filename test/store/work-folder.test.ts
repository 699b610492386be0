import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { hashOf } from '../../src/store/canonical-json.ts';
import { Superseded } from '../../src/store/errors.ts';
import { openWork } from '../../src/store/work-folder.ts';
import { someKey } from './some-key.ts';
import { filesIn, temporaryFolder } from './temporary-folder.ts';

test('the folder is named by its key, with room for a shard', async () => {
  const root = await temporaryFolder();
  expect((await openWork(root, someKey())).path).toBe(
    join(root, 'work', 'night-1', `0007-train-agent-${hashOf('input').slice(0, 12)}`),
  );
  expect((await openWork(root, someKey({ shard: 2 }))).path).toMatch(/0007-train-agent-02-[0-9a-f]{12}$/);
});

test('only the highest claim may write', async () => {
  const root = await temporaryFolder();
  const first = await (await openWork(root, someKey())).claim();
  await first.assertCurrent();
  const second = await (await openWork(root, someKey())).claim();
  expect([first.number, second.number]).toEqual([1, 2]);
  expect([await first.isCurrent(), await second.isCurrent()]).toEqual([false, true]);
  await expect(first.assertCurrent()).rejects.toThrow(Superseded);
  await expect(first.assertCurrent()).rejects.toThrow('attempt 2 has claimed it since');
});

test('claims are counted, not compared as text', async () => {
  const work = await openWork(await temporaryFolder(), someKey());
  for (let number = 1; number <= 11; number += 1) expect((await work.claim()).number).toBe(number);
});

test('a claim on a folder that was removed and made again is not mistaken for the new one', async () => {
  const root = await temporaryFolder();
  const work = await openWork(root, someKey());
  const old = await work.claim();
  await work.remove();
  await expect(work.claim()).rejects.toMatchObject({ name: 'Superseded' });
  await expect(old.assertCurrent()).rejects.toThrow('it was removed since');
  const renewed = await (await openWork(root, someKey())).claim();
  expect(renewed.number).toBe(old.number);
  expect(await old.isCurrent()).toBe(false);
  expect(await renewed.isCurrent()).toBe(true);
});

test.each([1e9, 2 ** 53, '9'.repeat(20)])(
  'a claim of a number that no work reaches is refused: %s',
  async (number) => {
    const work = await openWork(await temporaryFolder(), someKey());
    const claim = await work.claim();
    await writeFile(join(work.path, 'fence', String(number)), '');
    const refusal = { name: 'InvalidArtifact', file: join(work.path, 'fence', String(number)) };
    await expect(work.claim()).rejects.toMatchObject(refusal);
    await expect(claim.isCurrent()).rejects.toMatchObject(refusal);
  },
);

test('the last number that work may reach is claimed, and no number after it is made', async () => {
  const work = await openWork(await temporaryFolder(), someKey());
  await writeFile(join(work.path, 'fence', '999999998'), '');
  const claim = await work.claim();
  expect(claim.number).toBe(999_999_999);
  await expect(work.claim()).rejects.toMatchObject({ name: 'InvalidArtifact' });
  expect(await claim.isCurrent()).toBe(true);
});

test('removing takes everything, and twice is as good as once', async () => {
  const root = await temporaryFolder();
  const work = await openWork(root, someKey());
  await writeFile(join(work.path, 'job.json'), '{}');
  await work.claim();
  await work.remove();
  await work.remove();
  await expect(stat(work.path)).rejects.toThrow('ENOENT');
  expect(await filesIn(root)).toEqual([]);
});
