import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeWandb } from '../../test-support/fake-wandb.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from './growing-run.ts';
import type { ReadBack } from './read-back.ts';
import { expectSteps, send } from './tracker-contract.ts';
import type { TrackerHarness } from './tracker-contract.ts';

let wandb: FakeWandb;
beforeAll(async () => void (wandb = await FakeWandb.start()));
afterAll(() => wandb[Symbol.asyncDispose]());

const harness: TrackerHarness = {
  tracker: 'wandb',
  uri: () => wandb.uri,
  env: () => ({
    ...process.env,
    WANDB_MODE: 'online',
    WANDB_API_KEY: 'a'.repeat(40),
    NO_PROXY: '127.0.0.1',
    no_proxy: '127.0.0.1',
  }),
  place: () => [],
};

const read = (key: string): ReadBack => ({
  points: wandb
    .history(key)
    .flatMap(({ _step: step, ...values }) =>
      Object.entries(values).flatMap(([name, value]): ReadBack['points'] =>
        typeof value === 'number' ? [[step as number, name, value]] : [],
      ),
    ),
  ...{ config: {}, tags: {}, tables: {}, references: {} },
});

describe('W&B’s SDK, online, against a fake of its service', () => {
  test.each(['log 2', 'log 2 after 20', 'open'])('killed at %s', async (fault) => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commitTo(4);
    const { last, processes } = await send(harness, run, { fault });
    expect({ last, processes }).toEqual({ last: 4, processes: 2 });
    expectSteps(read(await run.key()), 4);
  });

  test('continued by another process, and rewound', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commitTo(1);
    await send(harness, run);
    await run.commitTo(3, 2);
    await send(harness, run);
    expectSteps(read(await run.key()), 3);
    await run.rewindTo(2);
    await run.commit(3);
    await send(harness, run);
    expectSteps(read(await run.key()), 3);
    expectSteps(read(await run.key(1)), 3, { offsetFrom: 3 });
    expect(wandb.runs.get(await run.key(1))?.group).toBe(await run.key());
  });
});
