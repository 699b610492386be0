import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { settingsWithinQuotas } from '../../src/runs/quotas.ts';
import { manifestPath, tombstonePath } from '../../src/store/object-paths.ts';
import { removeShared, removeSharedPath, writeShared } from '../../src/store/shared-files.ts';
import type { WorkflowSettings } from '../../src/types/run-state.ts';
import { sharedBucket } from '../store/shared-bucket.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { hostsOf } from '../store/two-hosts.ts';

test('a quota of disk counts what the bucket has, on whichever host a run continues', async () => {
  await using shared = await sharedBucket();
  const [a, b] = hostsOf(shared);
  const source = join(await temporaryFolder(), 'checkpoint');
  await mkdir(source);
  await writeFile(join(source, 'model.safetensors'), 'w'.repeat(100));
  const checkpoint = await a.store.putFolder(source);
  const traces = await a.store.putRecords([{ text: 'some' }]);
  const lines = [{ outputs: { checkpoint, traces } }];
  const reasonOf = async (maxDiskBytes: number) => {
    const settings = { maxTokens: null } as WorkflowSettings;
    const use = { lines, tokens: 7, inherited: 0 };
    return (await settingsWithinQuotas(settings, { maxDiskBytes }, b.store, use)).reason;
  };
  const bytes = 100 + traces.bytes;
  expect(await reasonOf(bytes)).toBe(null);
  expect(shared.s3.counts.LIST).toBeUndefined();
  expect(await reasonOf(bytes - 1)).toContain(`its files take ${bytes} bytes`);
  // As retention removes it.
  await writeShared(tombstonePath(a.root, checkpoint), '{}');
  await removeShared(manifestPath(a.root, checkpoint));
  await removeSharedPath(a.store.path(checkpoint));
  expect(await reasonOf(bytes - 1)).toBe(null);
  expect(await reasonOf(traces.bytes - 1)).toContain(`its files take ${traces.bytes} bytes`);
});
