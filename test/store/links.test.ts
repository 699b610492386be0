/** Links below the folders of this project, which whoever may write there could make: none is followed. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { loadRun } from '../../src/report/load-run.ts';
import { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { manifestPath } from '../../src/store/object-paths.ts';
import { folderRef } from '../../src/store/references.ts';
import type { Ref } from '../../src/store/references.ts';
import { JobFolder } from '../../src/training/job-folder.ts';
import { processLauncher } from '../../src/training/launchers.ts';
import { temporaryFolder } from './temporary-folder.ts';

const SECRET = 'SECRET of the machine\n';
const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
let home: string;
let store: ObjectStore;
const outside = (): string => join(home, 'outside');
const secret = (): string => join(outside(), 'secret.txt');

beforeEach(async () => {
  home = await temporaryFolder();
  store = new ObjectStore(join(home, 'store'));
  mkdirSync(outside());
  writeFileSync(secret(), SECRET);
});

const replaceByLink = (path: string, target: string): void => {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
};

/** What reading an object says. */
async function problemWith(ref: Ref): Promise<string> {
  const error: unknown = await store.check(ref).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ name: 'InvalidArtifact' });
  return (error as Error).message;
}

describe('an object', () => {
  it('that is a link to a file is refused, and the hash of that file is not said', async () => {
    const ref = await store.putJson({ text: 'value' });
    replaceByLink(store.path(ref), secret());
    for (const message of [
      await problemWith(ref),
      await store.text(ref).catch((error: unknown) => (error as Error).message),
    ]) {
      expect(message).toContain('it is a link');
      expect(message).not.toContain(hash(SECRET));
    }
    expect(await store.has(ref)).toBe(false);
    // Put again, it takes the place of the link.
    await store.putJson({ text: 'value' });
    expect(await store.json(ref)).toEqual({ text: 'value' });
    expect(readFileSync(secret(), 'utf8')).toBe(SECRET);
  });

  it('that is a folder holds no link, is none, and its manifest leads nowhere else', async () => {
    const source = join(home, 'source');
    mkdirSync(join(source, 'deep'), { recursive: true });
    writeFileSync(join(source, 'deep', 'weights.txt'), 'weights');
    const ref = await store.putFolder(source);
    const weights = join(store.path(ref), 'deep', 'weights.txt');
    for (const [path, target] of [
      [weights, secret()],
      [weights, join(outside(), 'absent')],
      [dirname(weights), outside()],
      [store.path(ref), outside()],
    ] as const) {
      replaceByLink(path, target);
      expect(await problemWith(ref)).not.toContain(hash(SECRET));
      await store.putFolder(source);
      await store.check(ref);
    }
    const manifest = JSON.stringify([
      { bytes: 7, path: '../../../../outside/secret.txt', sha256: 'a'.repeat(64) },
    ]);
    const forged = folderRef(hash(manifest), 7, 1);
    mkdirSync(store.path(forged), { recursive: true });
    writeFileSync(manifestPath(store.root, forged), manifest);
    expect(await problemWith(forged)).toContain('it lists what is not a file of the folder');
  });

  it('may be in a store that the operator has linked to another disk', async () => {
    const ref = await store.putJson({ text: 'value' });
    renameSync(store.root, join(home, 'disk'));
    symlinkSync(join(home, 'disk'), store.root);
    expect(await store.json(ref)).toEqual({ text: 'value' });
  });
});

describe('a folder', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['evaluations', () => new EvaluationFolder(join(home, 'evaluations'), 'some').readResults()],
    ['evaluations', () => new EvaluationFolder(join(home, 'evaluations'), 'some').write({} as never)],
    [
      'evaluations',
      () => new EvaluationFolder(join(home, 'evaluations'), 'some').writeFile('results.json', ''),
    ],
    ['comparisons', () => new ComparisonFolder(join(home, 'comparisons'), 'some').read()],
    ['comparisons', () => new ComparisonFolder(join(home, 'comparisons'), 'some').write({} as never)],
    ['nightly', () => new NightlyFolder(join(home, 'nightly'), 'some').nights()],
    ['nightly', () => new NightlyFolder(join(home, 'nightly'), 'some').note({} as never)],
    ['runs', () => loadRun({ home, runId: 'some' })],
  ])('of %s that is a link is neither read nor written', async (kind, work) => {
    replaceByLink(join(home, kind, 'some'), outside());
    await expect(work()).rejects.toThrow('it is a link or a file, where a folder of this project belongs');
    expect(existsSync(join(outside(), 'results.json'))).toBe(false);
  });

  it('of a run whose experiment is a link is not listed, and a report reads no link', async () => {
    const run = new RunFolder(join(home, 'runs'), 'some');
    await run.writeExperiment({ name: 'some' });
    writeFileSync(join(outside(), 'lines'), '{"epoch":1,"metrics":{"stolen":1}}\n');
    replaceByLink(run.metricsFile, join(outside(), 'lines'));
    const { rows, gaps } = await loadRun({ home, runId: 'some' });
    expect(rows).toEqual([]);
    expect(gaps.join(' ')).toContain('metrics.jsonl: it is a link');
    expect(await RunFolder.list(join(home, 'runs'))).toHaveLength(1);
    replaceByLink(run.experimentFile, secret());
    expect(await RunFolder.list(join(home, 'runs'))).toEqual([]);
  });
});

describe('a job', () => {
  it('writes no log through a link', async () => {
    replaceByLink(join(home, 'job', 'log.txt'), secret());
    await expect(processLauncher('/bin/false', {}).launch(join(home, 'job'))).rejects.toThrow('it is a link');
    expect(readFileSync(secret(), 'utf8')).toBe(SECRET);
  });

  it('is read and kept alive through none', async () => {
    const job = new JobFolder(join(home, 'job'), 'python3', () => undefined);
    for (const name of ['job.json', 'progress.jsonl', 'lock'])
      replaceByLink(join(home, 'job', name), secret());
    replaceByLink(join(home, 'job', 'lease'), join(outside(), 'made'));
    for (const work of [() => job.job(), () => job.progress(), () => job.isAlive(), () => job.touchLease()])
      await expect(work()).rejects.toThrow('it is a link');
    expect(existsSync(join(outside(), 'made'))).toBe(false);
    rmSync(join(home, 'job', 'lease'));
    await job.touchLease();
    expect(statSync(join(home, 'job', 'lease')).size).toBe(0);
  });
});
