import { appendFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { collectGarbage } from '../../src/runs/garbage-collection.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { someStore } from './some-run.ts';
import { filesIn } from './temporary-folder.ts';

async function wholeRun() {
  const made = await someStore();
  return { ...made, ...(await made.someRun('a', 3)) };
}

async function replace(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  await writeFile(file, text.replace(from, to));
}

describe('verify', () => {
  test('finds a whole run whole, counting each object once, and changes nothing', async () => {
    const { root, store, run, epochs } = await wholeRun();
    const before = await filesIn(root);
    const bytes = epochs.reduce(
      (sum, { checkpoint, trainerState, traces }) =>
        sum + checkpoint.bytes + trainerState.bytes + traces.bytes,
      0,
    );
    expect(await verifyRun(store, run)).toEqual({ lines: 3, objects: 9, bytes, pruned: 0, problems: [] });
    expect(await filesIn(root)).toEqual(before);
  });

  test('names every damaged object, the earliest epoch first', async () => {
    const { store, run, epochs } = await wholeRun();
    const [first, second, third] = epochs.map(({ checkpoint, traces }) => ({
      weights: join(store.path(checkpoint), 'model.safetensors'),
      traces: store.path(traces),
    }));
    await truncate(third?.traces ?? '', 3);
    await rm(first?.traces ?? '');
    await writeFile(second?.weights ?? '', 'other'.padEnd(1000));
    const { problems, objects } = await verifyRun(store, run);
    expect(problems.map(({ file }) => file)).toEqual([first?.traces, second?.weights, third?.traces]);
    expect(problems.map(({ problem }) => problem)).toEqual([
      expect.stringContaining('missing'),
      expect.stringContaining('altered'),
      expect.stringContaining('altered'),
    ]);
    expect(objects).toBe(6);
  });

  test.each([
    [1, '"epoch":1', '"epoch":9'],
    [2, '"epoch":1,"inputs"', '"epoch":1,"extra":0,"inputs"'],
    [3, '"epoch":2,"inputs"', '"epoch":2,"extra":0,"inputs"'],
  ])('a doctored line is named, and the %i lines up to it are still verified', async (lines, from, to) => {
    const { store, run } = await wholeRun();
    await replace(run.ledgerFile, from, to);
    const report = await verifyRun(store, run);
    expect(report).toMatchObject({ lines, objects: lines * 3, problems: [{ file: run.ledgerFile }] });
    expect(report.problems[0]?.problem).toContain(`line ${Math.max(lines, 2)}`);
  });

  test('an altered experiment file is told apart from an altered first line', async () => {
    const { store, run } = await wholeRun();
    const [experiment, ledger] = [await readFile(run.experimentFile), await readFile(run.ledgerFile)];
    await replace(run.experimentFile, '"a"', '"b"');
    expect(await verifyRun(store, run)).toMatchObject({
      lines: 3,
      objects: 9,
      problems: [{ file: run.experimentFile }],
    });
    await rm(run.experimentFile);
    expect(await verifyRun(store, run)).toMatchObject({
      lines: 3,
      objects: 9,
      problems: [{ file: run.experimentFile, problem: 'missing' }],
    });
    await writeFile(run.experimentFile, experiment);
    const previous = (JSON.parse(ledger.toString('utf8').split('\n')[0] ?? '') as { previous: string })
      .previous;
    await replace(
      run.ledgerFile,
      previous,
      previous.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    );
    expect(await verifyRun(store, run)).toMatchObject({ lines: 0, problems: [{ file: run.ledgerFile }] });
    await writeFile(run.ledgerFile, ledger);
    expect((await verifyRun(store, run)).problems).toEqual([]);
  });

  test('a line with a reference that is none is named by its epoch', async () => {
    const { store, run, ledger, epochs } = await wholeRun();
    await ledger.append({
      epoch: 3,
      inputs: {},
      outputs: { agent: { ...epochs[0]?.checkpoint, uri: '../../outside/' } },
      metrics: {},
    });
    const report = await verifyRun(store, run);
    expect(report).toMatchObject({ lines: 4, objects: 9, problems: [{ file: run.ledgerFile }] });
    expect(report.problems[0]?.problem).toContain('epoch 3: ../../outside/ is not a reference');
  });

  test('a torn last line is no problem: it was never committed', async () => {
    const { store, run } = await wholeRun();
    await appendFile(run.ledgerFile, '{"epoch":3,');
    expect(await verifyRun(store, run)).toMatchObject({ lines: 3, problems: [] });
  });

  test('what retention removed is pruned, not broken; what vanished without it is broken', async () => {
    const { store, run, epochs } = await wholeRun();
    await collectGarbage(store, [run], { keep: { last: 1, every: 0, best: false } });
    expect(await verifyRun(store, run)).toMatchObject({ objects: 8, pruned: 1, problems: [] });
    const kept = epochs[2]?.checkpoint;
    if (kept === undefined) throw new Error('the run has three epochs');
    await rm(store.path(kept), { recursive: true });
    expect(await verifyRun(store, run)).toMatchObject({
      objects: 7,
      pruned: 1,
      problems: [{ file: store.path(kept) }],
    });
  });
});
