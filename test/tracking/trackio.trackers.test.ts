import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { GrowingRun } from './growing-run.ts';
import { send, trackerContract } from './tracker-contract.ts';
import type { TrackerHarness } from './tracker-contract.ts';

const harness: TrackerHarness = {
  tracker: 'trackio',
  env: (home) => ({ ...process.env, TRACKIO_DIR: join(home, 'trackio') }),
  place: (_home, key) => ['co-evolution', key],
};

describe('Trackio, in a SQLite file', () => {
  trackerContract(harness);

  test('refuses an address: its server does not say which step it has', async () => {
    const run = await GrowingRun.start(await temporaryFolder());
    await run.commit(0);
    await expect(send({ ...harness, uri: () => 'http://localhost:1' }, run)).rejects.toThrow(
      /^uri: got an address; runs are sent to Trackio on this machine only/,
    );
  });
});
