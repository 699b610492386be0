import { execFileSync } from 'node:child_process';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cutLedger } from '../../src/runs/cut-ledger.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { Journal } from '../../src/store/journal.ts';
import { dataFileReader } from '../../src/store/data-files.ts';
import { hashOf } from '../../src/store/canonical-json.ts';

let folder: string;
let run: RunFolder;
const SECRET = 'SECRET-of-the-worker\nsecond line\n';
const outside = (): string => join(folder, 'secret.txt');

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-plain-'));
  run = new RunFolder(join(folder, 'runs'), 'laptop');
  writeFileSync(outside(), SECRET);
  await run.writeExperiment({ name: 'laptop' });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const anchor = hashOf({ name: 'laptop' });
const replaceByLink = (path: string, target = outside()): void => {
  rmSync(path, { recursive: true, force: true });
  symlinkSync(target, path);
};
const refusal = expect.objectContaining({ name: 'InvalidArtifact' }) as Error;

describe('a link in a run’s folder', () => {
  const line = { epoch: 0, inputs: {}, outputs: {}, metrics: {} };

  it.each<[string, () => Promise<unknown>]>([
    [
      'events.jsonl',
      async () => {
        replaceByLink(run.eventsFile);
        await run.appendEvent({ type: 'started' });
      },
    ],
    [
      'metrics.jsonl',
      async () => {
        replaceByLink(run.metricsFile);
        await run.appendMetrics({ epoch: 1 });
      },
    ],
    [
      'ledger.jsonl, written',
      async () => {
        truncateSync(outside());
        replaceByLink(run.ledgerFile);
        await run.ledger(anchor).append(line);
      },
    ],
    [
      'ledger.jsonl, read',
      async () => {
        replaceByLink(run.ledgerFile);
        await run.ledger(anchor).read();
      },
    ],
    [
      'ledger.jsonl, archived',
      async () => {
        await run.ledger(anchor).append(line);
        const ledger = run.ledger(anchor);
        replaceByLink(run.metricsFile);
        await cutLedger(run, ledger, 0, {});
      },
    ],
    [
      'branches',
      async () => {
        await run.ledger(anchor).append(line);
        mkdirSync(join(folder, 'elsewhere'));
        symlinkSync(join(folder, 'elsewhere'), run.branchesFolder);
        await cutLedger(run, run.ledger(anchor), 0, {});
      },
    ],
    [
      'experiment.json',
      async () => {
        replaceByLink(run.experimentFile);
        await run.readExperiment();
      },
    ],
    [
      'retunes.json',
      async () => {
        replaceByLink(run.retunesFile);
        await run.readRetunes();
      },
    ],
    [
      'the folder itself',
      async () => {
        mkdirSync(join(folder, 'elsewhere'));
        replaceByLink(run.path, join(folder, 'elsewhere'));
        await run.writeExperiment({ name: 'laptop' });
      },
    ],
  ])('is not followed: %s', async (_, work) => {
    await expect(work()).rejects.toThrow(refusal);
    expect(['', SECRET]).toContain(readFileSync(outside(), 'utf8'));
    expect(existsSync(join(folder, 'elsewhere', 'experiment.json'))).toBe(false);
    if (existsSync(join(folder, 'elsewhere')))
      expect(statSync(join(folder, 'elsewhere')).size).toBeLessThan(4097);
  });

  it('that is a pipe holds nobody up', async () => {
    execFileSync('mkfifo', [run.retunesFile]);
    await expect(run.readRetunes()).rejects.toThrow(refusal);
  });

  it('is not quoted, and neither is what is no JSON', async () => {
    writeFileSync(run.retunesFile, SECRET);
    await expect(run.readRetunes()).rejects.toThrow('not JSON');
    await expect(run.readRetunes()).rejects.not.toThrow('SECRET');
  });
});

it('a link named like a journal is not emptied', async () => {
  symlinkSync(outside(), join(folder, 'requests.jsonl'));
  await expect(Journal.open(join(folder, 'requests.jsonl'))).rejects.toThrow(refusal);
  expect(readFileSync(outside(), 'utf8')).toBe(SECRET);
});

it('a run that never was gets no folder by an event', async () => {
  const never = new RunFolder(join(folder, 'runs'), 'never');
  await expect(never.appendEvent({ type: 'ended' })).rejects.toThrow('there is no run "never"');
  expect(existsSync(never.path)).toBe(false);
});

describe('a file that an experiment names', () => {
  const data = (): string => join(folder, 'data');
  const read = (path: string) => dataFileReader([data()])('world.tasksFile.path', path);
  beforeEach(() => {
    mkdirSync(join(folder, 'data', 'deep'), { recursive: true });
    mkdirSync(join(folder, 'database'));
    writeFileSync(join(data(), 'deep', 'tasks.jsonl'), 'tasks');
    writeFileSync(join(folder, 'database', 'x'), SECRET);
  });

  it('is read if it is under a permitted folder', async () => {
    expect((await read(join(data(), 'deep', 'tasks.jsonl'))).toString()).toBe('tasks');
    symlinkSync('tasks.jsonl', join(data(), 'deep', 'link.jsonl'));
    expect((await read(join(data(), 'deep', 'link.jsonl'))).toString()).toBe('tasks');
  });

  it.each([
    ['another file of the machine', '/etc/passwd'],
    ['one that does not exist', '/etc/no-such-file'],
    ['one of the process', '/proc/self/environ'],
  ])('is refused in the same words: %s', async (_, path) => {
    await expect(read(path)).rejects.toThrow(
      `got ${JSON.stringify(path)}; workers read only what is in ${data()}`,
    );
  });

  it('is refused if it leaves the folder by a link or by dots, or is no file', async () => {
    symlinkSync(outside(), join(data(), 'out'));
    await expect(read(join(data(), 'out'))).rejects.toThrow('workers read only');
    await expect(read(`${data()}/../secret.txt`)).rejects.toThrow('workers read only');
    await expect(read(join(folder, 'database', 'x'))).rejects.toThrow('workers read only');
    await expect(read(data())).rejects.toThrow('workers read only');
    await expect(read(join(data(), 'deep'))).rejects.toThrow('it is not a file');
    await expect(read(join(data(), 'absent'))).rejects.toThrow('it does not exist');
    execFileSync('mkfifo', [join(data(), 'pipe')]);
    await expect(read(join(data(), 'pipe'))).rejects.toThrow('it is not a file');
    linkSync(join(data(), 'deep', 'tasks.jsonl'), join(data(), 'hard'));
    expect((await read(join(data(), 'hard'))).toString()).toBe('tasks');
  });

  it('is refused if it has more than 256 MB', async () => {
    const path = join(data(), 'long.jsonl');
    writeFileSync(path, '');
    // Without a block on disk.
    truncateSync(path, 2 ** 28 + 1);
    await expect(read(path)).rejects.toThrow('it has 268435457 bytes; expected at most 268435456');
  });

  it('is refused anywhere if no folder is permitted', async () => {
    const none = dataFileReader([])('arm.source.path', join(data(), 'deep', 'tasks.jsonl'));
    await expect(none).rejects.toThrow('GENENV_DATA');
  });
});
