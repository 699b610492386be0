import { rm } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { quotaLines } from '../../src/cli/lib/estimates.ts';
import { currentState } from '../../src/cli/lib/run-activity.ts';
import { readQuotas } from '../../src/runs/quotas.ts';
import type { Quotas } from '../../src/runs/quotas.ts';
import { refsIn } from '../../src/store/references.ts';
import { opening } from '../../test-support/opening.ts';
import { createActivities, plainEpoch } from '../../test-support/plain-epochs.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

const open = async (run: SomeRun, quotas: Quotas) => {
  const { openEpoch } = createActivities({ ...run.dependencies, quotas });
  // eslint-disable-next-line id-denylist -- a field on the wire
  const { settings } = await openEpoch({ id: 'some-run', known: null, thorough: false });
  return settings.maxTokens;
};

describe('a quota of the worker', () => {
  it('of tokens that is used up is why the run has ended, until it is resumed with a higher one', async () => {
    const run = await someRun();
    const folder = run.dependencies.runFolder('some-run');
    const { state } = await run.epochs(1);
    const end = { id: 'some-run', outcome: 'token cap reached', epoch: 1 } as const;
    await open(run, { maxTokens: state.tokens + 1 });
    await run.activities.recordEnd(end);
    expect((await currentState(folder, null)).state).toBe('interrupted');
    await open(run, { maxTokens: state.tokens });
    await run.activities.recordEnd(end);
    await run.activities.recordEnd(end);
    expect((await folder.events()).at(-1)).toMatchObject({
      type: 'ended',
      reason: expect.stringMatching(
        /^it has sampled \d+ tokens, and .* \(GENENV_MAX_TOKENS_PER_RUN\)$/,
      ) as string,
    });
    expect((await currentState(folder, null)).state).toBe('out of quota');
    // A worker with a higher one.
    const { openEpoch } = createActivities({ ...run.dependencies, quotas: {} });
    // eslint-disable-next-line id-denylist -- a field on the wire
    await openEpoch({ id: 'some-run', known: null, thorough: true });
    await run.activities.recordEnd(end);
    expect((await folder.events()).at(-1)).not.toHaveProperty('reason');
  });

  it('of tokens bounds a run, whatever its file says', async () => {
    const unlimited = await someRun();
    expect(await open(unlimited, {})).toBe(null);
    expect(await open(unlimited, { maxTokens: 1_000 })).toBe(1_000);
    const modest = await someRun({ maxTokens: 300 });
    expect(await open(modest, { maxTokens: 1_000 })).toBe(300);
    expect(await open(modest, { maxTokens: 200 })).toBe(200);
  });

  it('of tokens is for a fork’s own, whatever its parent has sampled', async () => {
    const run = await someRun();
    const { state: parent } = await run.epochs(1);
    const startFrom = { run: 'some-run', epoch: 1 };
    const plan = await run.activities.parseExperiment({ id: 'fork', file: { ...smallFile, startFrom } });
    const folder = run.dependencies.runFolder('fork');
    const openFork = (maxTokens: number) =>
      createActivities({ ...run.dependencies, quotas: { maxTokens } }).openEpoch(opening('fork', null));
    const { last, ...opened } = await openFork(parent.tokens);
    expect(opened.settings.maxTokens).toBe(2 * parent.tokens);
    expect((await folder.events()).map(({ type }) => type)).toEqual(['started']);
    const { state } = await plainEpoch(run.activities, { ...plan, ...opened }, last!);
    await openFork(1);
    expect((await folder.events()).at(-1)).toMatchObject({
      type: 'quota',
      reason: expect.stringContaining(`it has sampled ${state.tokens - parent.tokens} tokens,`) as string,
    });
  });

  it('of disk ends a run as its limit of tokens does, once its files are larger, and says so in its events', async () => {
    const run = await someRun();
    const { state } = await run.epochs(1);
    const folder = run.dependencies.runFolder('some-run');
    const lines = (await (await folder.open())!.ledger.read()) as unknown[];
    const refs = [...new Map([...refsIn(lines)].map(({ ref }) => [ref.sha256, ref])).values()];
    const bytes = refs.reduce((sum, ref) => sum + ref.bytes, 0);
    expect(await open(run, { maxDiskBytes: bytes })).toBe(null);
    // The workflow ends a run whose tokens have reached this.
    expect(await open(run, { maxDiskBytes: bytes - 1 })).toBe(state.tokens);
    expect((await folder.events()).at(-1)).toMatchObject({
      type: 'quota',
      epoch: 1,
      reason: `its files take ${bytes} bytes, and its worker lets a run have ${bytes - 1} (GENENV_MAX_DISK_PER_RUN)`,
    });
    // What was pruned takes nothing.
    await rm(run.dependencies.store.path(refs.find(({ bytes: size }) => size > 1)!), { recursive: true });
    expect(await open(run, { maxDiskBytes: bytes - 1 })).toBe(null);
  });
});

test('quotas are read from the environment, and a wrong one names its variable', () => {
  expect(readQuotas({})).toEqual({});
  expect(readQuotas({ GENENV_MAX_TOKENS_PER_RUN: '5000000', GENENV_MAX_DISK_PER_RUN: '1.5 GB' })).toEqual({
    maxTokens: 5_000_000,
    maxDiskBytes: 1_500_000_000,
  });
  expect(readQuotas({ GENENV_MAX_DISK_PER_RUN: '2000' })).toEqual({ maxDiskBytes: 2_000 });
  for (const value of ['0', '-1', '1e9', 'many', '1.5'])
    expect(() => readQuotas({ GENENV_MAX_TOKENS_PER_RUN: value })).toThrow(/GENENV_MAX_TOKENS_PER_RUN: got/);
  for (const value of ['0', '-1', '5 XB', 'GB', '0.0 GB'])
    expect(() => readQuotas({ GENENV_MAX_DISK_PER_RUN: value })).toThrow(/GENENV_MAX_DISK_PER_RUN: got/);
});

test('a dry run names the quotas, and says if they may end the run', () => {
  const run = { resources: { tokens: 500 }, disk: { policies: 100, records: 100 } } as never;
  expect(quotaLines({}, run)).toEqual([]);
  expect(quotaLines({ maxTokens: 500 }, run)).toEqual([
    'quota       500 tokens a run, by GENENV_MAX_TOKENS_PER_RUN and GENENV_MAX_DISK_PER_RUN',
  ]);
  expect(quotaLines({ maxTokens: 499, maxDiskBytes: 2e9 }, run)[0]).toMatch(
    /499 tokens, 2\.0 GB of files a run.*may end before its last epoch$/,
  );
  expect(quotaLines({ maxDiskBytes: 199 }, run)[0]).toContain('may end');
});
