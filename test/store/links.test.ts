/** Links below the folders of this project, which whoever may write there could make: none is followed. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { showComparison } from '../../src/cli/lib/comparison-results.ts';
import { showPaired } from '../../src/cli/lib/scores.ts';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { loadRun } from '../../src/report/load-run.ts';
import { branchNames } from '../../src/runs/cut-ledger.ts';
import { ComparisonFolder, EvaluationFolder, NightlyFolder } from '../../src/runs/result-folders.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { atomicRemove, atomicWrite } from '../../src/store/atomic-write.ts';
import { undefinedIfMissing } from '../../src/store/errors.ts';
import { Journal } from '../../src/store/journal.ts';
import { appendJsonLine } from '../../src/store/json-files.ts';
import { Ledger } from '../../src/store/ledger.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { manifestPath } from '../../src/store/object-paths.ts';
import { readPlainFile } from '../../src/store/plain-files.ts';
import { folderRef } from '../../src/store/references.ts';
import type { Ref } from '../../src/store/references.ts';
import { measure, scanObjects, scanWork, urisInWork } from '../../src/store/scan.ts';
import { openWork, workPath } from '../../src/store/work-folder.ts';
import { JobFolder } from '../../src/training/job-folder.ts';
import { Python } from '../../src/processes/python.ts';
import { processLauncher } from '../../src/training/process-launcher.ts';
import { someKey } from './some-key.ts';
import { filesIn, temporaryFolder } from './temporary-folder.ts';

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

  it.each([false, true])('is not made of what a link leads to (move: %s)', async (move) => {
    const source = join(home, 'source');
    const expected = 'a'.repeat(64);
    const manifestOf = (path: string): string =>
      JSON.stringify([{ bytes: SECRET.length, path, sha256: hash(SECRET) }]);
    for (const [link, target, path] of [
      [join(source, 'weights.txt'), secret(), 'weights.txt'],
      [join(source, 'weights.txt'), join(outside(), 'absent'), 'weights.txt'],
      [join(source, 'deep'), outside(), 'deep/secret.txt'],
      [source, outside(), 'secret.txt'],
    ] as const) {
      rmSync(source, { recursive: true, force: true });
      replaceByLink(link, target);
      const error: unknown = await store
        .putFolder(source, { move, expected })
        .catch((failure: unknown) => failure);
      expect(error).toMatchObject({ name: 'InvalidArtifact', file: link });
      expect((error as Error).message).not.toContain(hash(SECRET));
      expect((error as Error).message).not.toContain(hash(manifestOf(path)));
    }
    expect(await filesIn(store.root)).toEqual([]);
    expect(readFileSync(secret(), 'utf8')).toBe(SECRET);
  });

  it('may be in a store that the operator has linked to another disk', async () => {
    const ref = await store.putJson({ text: 'value' });
    renameSync(store.root, join(home, 'disk'));
    symlinkSync(join(home, 'disk'), store.root);
    expect(await store.json(ref)).toEqual({ text: 'value' });
  });
});

describe('a link that takes the place of a folder after that was looked at', () => {
  it('leads to no file whose hash is said', async () => {
    const source = join(home, 'source');
    mkdirSync(join(source, 'deep'), { recursive: true });
    // Large enough for a sign of progress, before the second file is read.
    writeFileSync(join(source, 'a'), '');
    truncateSync(join(source, 'a'), 65 << 20);
    writeFileSync(join(source, 'deep', 'secret.txt'), 'x'.repeat(SECRET.length));
    const ref = await store.putFolder(source);
    const deep = join(store.path(ref), 'deep');
    const swapping = new ObjectStore(store.root, { onHashed: () => replaceByLink(deep, outside()) });
    const error: unknown = await swapping.check(ref).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      file: join(deep, 'secret.txt'),
      problem: 'a folder above it is a link',
    });
    rmSync(deep);
    mkdirSync(deep);
    writeFileSync(join(deep, 'secret.txt'), SECRET);
    expect(await problemWith(ref)).toContain('altered or torn (expected ');
    expect(await problemWith(ref)).not.toContain(hash(SECRET));
  });

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ['read', (folder) => readPlainFile(join(folder, 'secret.txt'))],
    ['added to', (folder) => appendJsonLine(join(folder, 'secret.txt'), {})],
    ['a journal', async (folder) => (await Journal.open(join(folder, 'secret.txt'))).close()],
    ['a ledger', (folder) => new Ledger(join(folder, 'secret.txt'), 'anchor').read()],
    ['replaced', (folder) => atomicWrite(join(folder, 'secret.txt'), 'replaced')],
  ])('leads to no file that is %s', async (_, work) => {
    const { path } = new RunFolder(join(home, 'runs'), 'some');
    replaceByLink(path, outside());
    await expect(work(path)).rejects.toThrow('a folder above it is a link');
    expect(readFileSync(secret(), 'utf8')).toBe(SECRET);
    // The operator may link the root of all runs.
    rmSync(dirname(path), { recursive: true });
    mkdirSync(join(home, 'disk', 'some'), { recursive: true });
    symlinkSync(join(home, 'disk'), dirname(path));
    await atomicWrite(join(path, 'secret.txt'), '');
    await work(path);
  });

  it('is not seen in a file or a folder that is replaced or removed while it is opened', async () => {
    const { path } = new RunFolder(join(home, 'runs'), 'some');
    const file = join(path, 'file');
    let done = false;
    const replacing = (async () => {
      for (let round = 0; round < 150; round += 1) {
        await atomicWrite(file, 'text');
        if (round % 10 === 9) await atomicRemove(path);
      }
      done = true;
    })();
    const texts = new Set<string | undefined>();
    // Many at a time: files are then open for a while before it is looked at where they are.
    const read = async () => texts.add((await undefinedIfMissing(readPlainFile(file)))?.toString('utf8'));
    while (!done) await Promise.all(Array.from({ length: 20 }, read));
    await replacing;
    expect([...texts].sort()).toEqual(['text', undefined]);
  });
});

describe('a folder', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['evaluations', () => new EvaluationFolder(join(home, 'evaluations'), 'some').readResults()],
    ['evaluations', () => new EvaluationFolder(join(home, 'evaluations'), 'some').readText('')],
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

describe('the command line', () => {
  const printed: string[] = [];
  const context = () => ({
    env: { GENENV_HOME: home },
    print: (line: string) => void printed.push(line),
    warn: (line: string) => void printed.push(line),
    terminal: null,
  });

  it.each(['results.md', 'summary.json'])('shows no comparison whose %s is a link', async (file) => {
    const folder = join(home, 'comparisons', 'some');
    mkdirSync(folder, { recursive: true });
    const summary = { primary: [], arms: [], axes: [], against: [], baseline: 'a', threshold: 1, notes: [] };
    writeFileSync(join(folder, 'results.md'), '# Results');
    writeFileSync(join(folder, 'summary.json'), JSON.stringify(summary));
    const document = join(home, 'results.md');
    expect(await showComparison('some', document, context())).toBe(0);
    expect(readFileSync(document, 'utf8')).toMatch(/^# Results\n/);
    rmSync(document);
    replaceByLink(join(folder, file), secret());
    await expect(showComparison('some', document, context())).rejects.toThrow('it is a link');
    expect(existsSync(document)).toBe(false);
  });

  it('compares no evaluations whose cases are a link', async () => {
    const ref = await store.putJson({});
    const policy = { type: 'gold' };
    const evaluation = parseEvaluation({ name: 'some', policy, suites: ['bfcl'] });
    const scored = { suites: [], aggregates: [], shards: [], judged: 0 };
    const results = { evaluation, policy, id: 'some', record: ref, identity: 'a', ...scored };
    const folder = new EvaluationFolder(join(home, 'evaluations'), 'some');
    await folder.writeFile(folder.resultsFile, JSON.stringify(results));
    writeFileSync(folder.casesFile, '');
    await expect(showPaired('some', 'some', context())).rejects.toThrow('have no suite in common');
    replaceByLink(folder.casesFile, secret());
    await expect(showPaired('some', 'some', context())).rejects.toThrow('it is a link');
  });
});

const key = someKey();

describe('unfinished work', () => {
  const folder = relative('/', workPath('/', key));
  it.each([dirname(folder), folder, join(folder, 'fence')])(
    'is neither read nor written through a link: %s',
    async (path) => {
      const link = join(store.root, path);
      replaceByLink(link, outside());
      const error: unknown = await openWork(store.root, key).catch((failure: unknown) => failure);
      expect(error).toMatchObject({ name: 'InvalidArtifact', file: link });
      expect(readdirSync(outside())).toEqual(['secret.txt']);
    },
  );

  it('may be in a folder that the operator has linked to another disk', async () => {
    await openWork(store.root, key);
    renameSync(store.root, join(home, 'disk'));
    symlinkSync(join(home, 'disk'), store.root);
    expect((await (await openWork(store.root, key)).claim()).number).toBe(1);
  });

  it('takes no claim from a link', async () => {
    const claim = await (await openWork(store.root, key)).claim();
    replaceByLink(join(workPath(store.root, key), 'fence', '1'), secret());
    await expect(claim.isCurrent()).rejects.toThrow('it is a link');
  });
});

describe('garbage collection', () => {
  it('looks for objects and unfinished work in no link, and does not measure what one leads to', async () => {
    const elsewhere = join(outside(), '0001-generate-aaaaaaaaaaaa');
    mkdirSync(elsewhere);
    writeFileSync(join(outside(), `${'a'.repeat(64)}.json`), '');
    replaceByLink(join(store.root, 'work', 'some'), outside());
    replaceByLink(join(store.root, 'work', 'other', '0001-generate-aaaaaaaaaaaa'), elsewhere);
    replaceByLink(join(store.root, 'objects', 'aa'), outside());
    expect(await scanWork(store.root)).toEqual([]);
    expect(await scanObjects(store.root)).toEqual([]);
    const work = (await openWork(store.root, key)).path;
    const before = await measure(work);
    replaceByLink(join(work, 'job.json'), secret());
    expect((await measure(work))!.bytes - before!.bytes).toBe(secret().length);
    await expect(urisInWork(work)).rejects.toThrow('it is a link');
  });
});

describe('the branches of a run', () => {
  it.each(['branches', 'branches/0001'])('are not followed if %s is a link', async (path) => {
    const run = new RunFolder(join(home, 'runs'), 'some');
    mkdirSync(join(outside(), '0001'));
    replaceByLink(join(run.path, path), outside());
    await expect(branchNames(run.branchesFolder)).rejects.toThrow('it is a link');
  });
});

describe('a job', () => {
  it('hands over no output that is in a folder elsewhere', async () => {
    const job = new JobFolder(join(home, 'job'), new Python('python3', process.env), () => undefined);
    replaceByLink(join(home, 'job', 'output'), outside());
    await expect(job.outputFolder('checkpoint')).rejects.toThrow('it is a link');
  });

  it('writes no log through a link', async () => {
    replaceByLink(join(home, 'job', 'log.txt'), secret());
    const submission = { key: 'a'.repeat(64), fence: 1, folder: join(home, 'job') };
    await expect(processLauncher(new Python('/bin/false', {}), {}).submit(submission)).rejects.toThrow(
      'it is a link',
    );
    expect(readFileSync(secret(), 'utf8')).toBe(SECRET);
  });

  it('is read and kept alive through none', async () => {
    const job = new JobFolder(join(home, 'job'), new Python('python3', process.env), () => undefined);
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
