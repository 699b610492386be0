import { chmod, stat } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { closeFolder } from '../../src/config/file-mode.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

test.each([
  ['of an earlier version', 0o755, 0o700],
  ['that a group may write to', 0o775, 0o700],
  ['like /tmp', 0o1777, 0o1777],
  ['of a team', 0o2775, 0o2775],
])('a folder %s has the mode that is right for it', async (_, before, after) => {
  const folder = await temporaryFolder();
  await chmod(folder, before);
  closeFolder(folder);
  expect((await stat(folder)).mode & 0o7777).toBe(after);
});
