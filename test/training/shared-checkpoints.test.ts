/** Step checkpoints of training jobs in a bucket: what another host continues from. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Damage } from '../../src/store/errors.ts';
import { shareFolder } from '../../src/store/shared-folders.ts';
import { openWork, workPath } from '../../src/store/work-folder.ts';
import { removeEarlierJobs, SharedCheckpoints } from '../../src/training/shared-checkpoints.ts';
import { FakeS3 } from '../../test-support/fake-s3.ts';
import { someKey } from '../store/some-key.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { failureOf, trial } from './job-trial.ts';

async function someBucket(): Promise<FakeS3> {
  const s3 = await FakeS3.start();
  onTestFinished(() => s3[Symbol.asyncDispose]());
  return s3;
}

/** A work folder of one host, of those that share the bucket. */
async function someHost(s3: FakeS3) {
  const root = await temporaryFolder();
  shareFolder(root, s3.bucket('team', 2), 'store');
  const { path } = await openWork(root, someKey());
  const damages: Damage[] = [];
  const checkpoints = new SharedCheckpoints(path, (damage) => damages.push(damage));
  return { path, checkpoints, damages, steps: () => readdir(join(path, 'checkpoints')).catch(() => []) };
}

/** As the trainer writes it: under another name first, its manifest with the hashes of all files. */
async function writeCheckpoint(work: string, step: number, files: Record<string, Buffer>): Promise<void> {
  const folder = join(work, 'checkpoints', `step-${String(step).padStart(6, '0')}`);
  await mkdir(`${folder}.tmp`, { recursive: true });
  const hashes: Record<string, string> = {};
  for (const [name, data] of Object.entries(files)) {
    await writeFile(join(`${folder}.tmp`, name), data);
    hashes[name] = createHash('sha256').update(data).digest('hex');
  }
  await writeFile(join(`${folder}.tmp`, 'manifest.json'), JSON.stringify({ files: hashes }));
  await rename(`${folder}.tmp`, folder);
}
const filesOf = (step: number) => ({
  'weights.safetensors': Buffer.alloc(9 << 20, step),
  'optimizer.safetensors': Buffer.from(`optimizer ${step}`),
  'state.json': Buffer.from(`{"step": ${step}}`),
});
const sentSteps = (s3: FakeS3): string[] =>
  [...new Set([...s3.objects.keys()].flatMap((key) => /step-\d+/.exec(key) ?? []))].sort();

test('another host continues from the newest checkpoint, whatever its files are called', async () => {
  const s3 = await someBucket();
  const [a, b] = [await someHost(s3), await someHost(s3)];
  for (const step of [2, 4, 6]) {
    await writeCheckpoint(a.path, step, {
      ...filesOf(step),
      'shard-00000-model-00001-of-00002.safetensors': Buffer.of(step),
    });
    await a.checkpoints.send();
  }
  // The newest, and the one before it.
  expect(sentSteps(s3)).toEqual(['step-000004', 'step-000006']);
  const transferred: number[] = [];
  await b.checkpoints.fetch(({ bytes }) => transferred.push(bytes));
  expect(await b.steps()).toEqual(['step-000006']);
  for (const name of await readdir(join(a.path, 'checkpoints/step-000006'))) {
    const [sent, fetched] = await Promise.all(
      [a, b].map(({ path }) => readFile(join(path, 'checkpoints/step-000006', name))),
    );
    // Vitest compares bytes one by one, which takes seconds for megabytes.
    expect(fetched!.equals(sent!), name).toBe(true);
  }
  // A transfer of gigabytes says that it goes on.
  expect(transferred.length).toBeGreaterThan(0);
  // What is here already is not fetched; what is sent already is not sent.
  const before = s3.counts.GET;
  await b.checkpoints.fetch();
  await b.checkpoints.send();
  expect(s3.counts.GET).toBe(before);
  expect(await readdir(a.path)).toEqual(expect.not.arrayContaining([expect.stringMatching(/tmp$/)]));
});

test('a checkpoint without its manifest, or with another, is none; the one before it is fetched', async () => {
  const s3 = await someBucket();
  const [a, b, c] = [await someHost(s3), await someHost(s3), await someHost(s3)];
  for (const step of [2, 4]) {
    await writeCheckpoint(a.path, step, filesOf(step));
    await a.checkpoints.send();
  }
  const [manifest] = [...s3.objects.keys()].filter((key) => /step-000004.*manifest/.test(key));
  s3.objects.get(manifest!)!.data = Buffer.from('{"files": {"../../ledger": "0"}}');
  await b.checkpoints.fetch();
  expect(await b.steps()).toEqual(['step-000002']);
  expect(b.damages.map(({ problem }) => problem)).toEqual(['no whole checkpoint; it is passed over']);
  s3.objects.delete(manifest!);
  await c.checkpoints.fetch();
  expect(await c.steps()).toEqual(['step-000002']);
  expect(c.damages).toEqual([]);
});

test('two hosts that are at the same step with other bytes do not mix their files', async () => {
  const s3 = await someBucket();
  const [a, b, c] = [await someHost(s3), await someHost(s3), await someHost(s3)];
  await writeCheckpoint(a.path, 2, { ...filesOf(2), 'state.json': Buffer.from('{"host": "a"}') });
  await writeCheckpoint(b.path, 2, { ...filesOf(2), 'state.json': Buffer.from('{"host": "b"}') });
  await Promise.all([a.checkpoints.send(), b.checkpoints.send()]);
  await c.checkpoints.fetch();
  const folder = join(c.path, 'checkpoints/step-000002');
  const { files } = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as {
    files: Record<string, string>;
  };
  for (const [name, hash] of Object.entries(files))
    expect(
      createHash('sha256')
        .update(await readFile(join(folder, name)))
        .digest('hex'),
    ).toBe(hash);
});

test('a bucket that is away is reported, and stops nothing', async () => {
  const s3 = await someBucket();
  const a = await someHost(s3);
  await writeCheckpoint(a.path, 2, filesOf(2));
  s3.fault = () => 'busy';
  a.checkpoints.startSending(new AbortController().signal);
  await a.checkpoints.settle();
  expect(a.damages.map(({ problem }) => problem).join()).toMatch(/^not in the bucket: /);
  s3.fault = () => undefined;
  a.checkpoints.startSending(new AbortController().signal);
  await a.checkpoints.settle();
  expect(sentSteps(s3)).toEqual(['step-000002']);
});

test('a job removes from this disk what is left of its phase in earlier epochs, and nothing else', async () => {
  const [s3, root] = [await someBucket(), await temporaryFolder()];
  const keys = [
    someKey({ epoch: 6 }),
    someKey(),
    someKey({ epoch: 8 }),
    someKey({ epoch: 6, phase: 'cross-play' }),
    someKey({ epoch: 6, phase: 'train-environment' }),
    someKey({ epoch: 6, experiment: 'night-2' }),
  ];
  const [earlier = '', ...kept] = keys.map((key) => workPath(root, key));
  for (const key of keys) await openWork(root, key);
  const damages: Damage[] = [];
  const remove = () => removeEarlierJobs(kept[0]!, (damage) => damages.push(damage));
  await remove();
  expect(await readdir(earlier)).toEqual(['fence']);
  shareFolder(root, s3.bucket('team', 2), 'store');
  await remove();
  expect(damages).toEqual([]);
  await expect(readdir(earlier)).rejects.toThrow('ENOENT');
  for (const path of kept) expect(await readdir(path), path).toEqual(['fence']);
});

test('a worker that stops sends what its job has reached, and a job on another disk begins there', async () => {
  const s3 = await someBucket();
  const job = await trial({ waits_for: 'go' });
  shareFolder(join(job.work.path, '../../..'), s3.bucket('team', 2), 'store');
  const controller = new AbortController();
  const running = failureOf(job.run({ signal: controller.signal }));
  await expect.poll(() => job.starts(), { timeout: 10_000 }).toHaveLength(1);
  await writeCheckpoint(job.work.path, 2, filesOf(2));
  controller.abort(new Error('the worker stops'));
  expect(await running).toMatchObject({ message: 'the worker stops' });
  expect(sentSteps(s3)).toEqual(['step-000002']);
  // The disk is lost.
  await rm(join(job.work.path, 'checkpoints'), { recursive: true });
  await job.write('go', '');
  await job.run();
  expect(await readdir(join(job.work.path, 'checkpoints'))).toEqual(['step-000002']);
  // All that is left of the work goes with it.
  await job.work.remove();
  expect([...s3.objects.keys()]).toEqual([]);
}, 60_000);
