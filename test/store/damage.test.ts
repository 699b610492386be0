import { cp, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { Journal } from '../../src/store/journal.ts';
import type { LedgerBody } from '../../src/store/ledger-chain.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseCache } from '../../src/store/phase-cache.ts';
import { manifestPath } from '../../src/store/object-paths.ts';
import { someKey } from './some-key.ts';
import { collect, memoryFolder } from './temporary-folder.ts';

/** One of each kind of file, and what reading each gives. */
async function someFiles() {
  const root = await memoryFolder();
  const home = join(root, 'whole');
  const output = join(root, 'output');
  await mkdir(output);
  await writeFile(join(output, 'model.safetensors'), 'weights of a model');
  const store = new ObjectStore(home);
  const records = await store.putRecords([
    { a: 1, text: 'é' },
    { a: 2, text: '' },
  ]);
  const folder = await store.putFolder(output);
  await new PhaseCache(home).record(someKey(), { records, rate: 0.5 });
  const journal = await Journal.open<unknown>(join(home, 'requests.jsonl'));
  for (const answer of ['one', 'two', 'three']) await journal.append({ answer });
  await journal.close();
  const run = new RunFolder(home, 'run');
  const anchor = await run.writeExperiment({ seed: 1, name: 'some' });
  for (const epoch of [0, 1, 2])
    await run
      .ledger(anchor)
      .append({ epoch, inputs: {}, outputs: { records }, metrics: { rate: 0.5 } } satisfies LedgerBody);

  /** By file: reads it in a copy of all, as a phase or a resumed run would. */
  const kinds: Record<string, { file: string; read: (home: string) => Promise<unknown> }> = {
    records: { file: store.path(records), read: (at) => collect(new ObjectStore(at).records(records)) },
    'file of a folder': {
      file: join(store.path(folder), 'model.safetensors'),
      read: async (at) => new ObjectStore(at).check(folder),
    },
    manifest: { file: manifestPath(home, folder), read: async (at) => new ObjectStore(at).check(folder) },
    key: { file: new PhaseCache(home).path(someKey()), read: (at) => new PhaseCache(at).lookup(someKey()) },
    journal: {
      file: join(home, 'requests.jsonl'),
      read: async (at) => {
        const opened = await Journal.open<unknown>(join(at, 'requests.jsonl'));
        await opened.close();
        return opened.entries;
      },
    },
    ledger: { file: run.ledgerFile, read: async (at) => (await openRun(at)).read() },
    head: {
      file: run.ledgerFile.replace('.jsonl', '.head.json'),
      read: async (at) => (await openRun(at)).read(),
    },
    experiment: { file: run.experimentFile, read: async (at) => (await openRun(at)).read() },
  };
  return { root, home, kinds };
}

async function openRun(home: string) {
  const run = await new RunFolder(home, 'run').open();
  if (run === undefined) throw new InvalidArtifact('experiment.json', 'missing');
  return run.ledger;
}

/**
 * A damaged file gives what the whole one gives; a key may be gone, and a journal or a torn ledger end early:
 * that is done again.
 */
function isHarmless(kind: string, actual: unknown, intact: unknown): boolean {
  if (kind === 'key' && actual === undefined) return true;
  const expected = ['journal', 'ledger'].includes(kind)
    ? (intact as unknown[]).slice(0, (actual as unknown[]).length)
    : intact;
  return JSON.stringify(actual) === JSON.stringify(expected);
}

const damages = fc.oneof(
  fc.record({
    type: fc.constant('flip' as const),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    bit: fc.nat(7),
  }),
  fc.record({
    type: fc.constant('cut' as const),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  }),
);

test.each(['records', 'file of a folder', 'manifest', 'key', 'journal', 'ledger', 'head', 'experiment'])(
  'a flipped bit or a cut in the file (%s) is noticed, or changes nothing that is read',
  async (kind) => {
    const { root, home, kinds } = await someFiles();
    const { file, read } = kinds[kind]!;
    const intact = await read(home);
    const copy = join(root, 'copy');
    const damaged = join(copy, file.slice(home.length + 1));
    await fc.assert(
      fc.asyncProperty(damages, async (damage) => {
        await rm(copy, { recursive: true, force: true });
        await cp(home, copy, { recursive: true });
        const data = await readFile(damaged);
        const at = Math.floor(damage.at * data.length);
        if (damage.type === 'cut') await truncate(damaged, at);
        else {
          data[at] = data[at]! ^ (1 << damage.bit);
          await writeFile(damaged, data);
        }
        try {
          expect(isHarmless(kind, await read(copy), intact)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(InvalidArtifact);
        }
      }),
      { numRuns: 150 },
    );
  },
  60_000,
);
