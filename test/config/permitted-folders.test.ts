import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { modelFolderCheck } from '../../src/config/permitted-folders.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'genenv-models-')));
  mkdirSync(join(root, 'models', 'qwen'), { recursive: true });
  mkdirSync(join(root, 'elsewhere'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const check = (path: string, folders = [join(root, 'models')]): Promise<void> =>
  modelFolderCheck(folders)('agent.model.path', path);

test('a model lies in a permitted folder, also by a link that is there', async () => {
  symlinkSync('qwen', join(root, 'models', 'latest'));
  symlinkSync('models', join(root, 'shared'));
  await check(join(root, 'models', 'qwen'));
  await check(join(root, 'models', 'latest'));
  await check(join(root, 'shared', 'qwen'), [join(root, 'shared')]);
  await check(join(root, 'models', 'qwen'), [join(root, 'shared')]);
  await check('engine:smollm2');
});

// The job reads the folder later than it is checked: who owns the link could change it in between.
test('a link from elsewhere, or to elsewhere, is no model', async () => {
  symlinkSync(join(root, 'models', 'qwen'), join(root, 'elsewhere', 'model'));
  symlinkSync(join(root, 'models'), join(root, 'elsewhere', 'models'));
  symlinkSync(join(root, 'elsewhere'), join(root, 'models', 'out'));
  await expect(check(join(root, 'elsewhere', 'model'))).rejects.toThrow(
    /agent\.model\.path: got .*elsewhere.*; it is a link; expected the folder itself, .*models\/qwen/,
  );
  await expect(check(join(root, 'elsewhere', 'models', 'qwen'))).rejects.toThrow('it is a link');
  await expect(check(join(root, 'models', 'out'))).rejects.toThrow('workers read only what is in');
});
