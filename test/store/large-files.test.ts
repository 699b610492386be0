import { open, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { Journal } from '../../src/store/journal.ts';
import { readHashedText, readOpened, readPlainFile } from '../../src/store/plain-files.ts';

let folder: string;
let run: RunFolder;
const SPARSE_BYTES = 10_000_000_000;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'genenv-large-'));
  run = new RunFolder(join(folder, 'runs'), 'laptop');
  await run.writeExperiment({ name: 'laptop' });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A file that takes no room on the disk, however large it says it is. */
async function makeSparse(file: string): Promise<string> {
  await writeFile(file, '');
  await truncate(file, SPARSE_BYTES);
  return file;
}

const refusal = (limit: number) => `it has ${SPARSE_BYTES} bytes; at most ${limit} are read`;
const FILE_LIMIT = 64_000_000;
const LINES_LIMIT = 536_870_888;

describe('a sparse file of 10 GB', () => {
  it.each<[string, number, () => Promise<unknown>]>([
    ['any file', FILE_LIMIT, async () => readPlainFile(await makeSparse(join(folder, 'file')))],
    [
      'experiment.json',
      FILE_LIMIT,
      async () => {
        await makeSparse(run.experimentFile);
        await run.readExperiment();
      },
    ],
    [
      'events.jsonl',
      LINES_LIMIT,
      async () => {
        await makeSparse(run.eventsFile);
        await run.events();
      },
    ],
    [
      'ledger.jsonl',
      LINES_LIMIT,
      async () => {
        await makeSparse(run.ledgerFile);
        await run.ledger(hashOf({})).read();
      },
    ],
    ['a journal', LINES_LIMIT, async () => Journal.open(await makeSparse(join(folder, 'requests.jsonl')))],
  ])('is refused, with its size and the limit: %s', async (_, limit, read) => {
    await expect(read()).rejects.toThrow(refusal(limit));
  });

  it('is as damaged as a torn one where a file says its own hash', async () => {
    expect(await readHashedText(await makeSparse(join(folder, 'record.json')))).toBe('');
  });

  it('has no newest metrics: only its tail is read', async () => {
    await makeSparse(run.metricsFile);
    expect(await run.lastMetrics()).toBeUndefined();
  });
});

it.each([0, 10])(
  'a file of %i bytes that grows while it is read gives no more than it had',
  async (before) => {
    const file = join(folder, 'growing');
    await writeFile(file, 'x'.repeat(before));
    await using handle = await open(file);
    const grown = Object.assign(Object.create(handle) as typeof handle, {
      read: handle.read.bind(handle),
      readFile: handle.readFile.bind(handle),
      stat: async () => {
        const stats = await handle.stat();
        await truncate(file, FILE_LIMIT + 1);
        return stats;
      },
    });
    expect(await readOpened(grown, file)).toHaveLength(before);
  },
);
