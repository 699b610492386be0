import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { engineReady } from '../../infra/setup/engine-steps.mjs';
import { engineFolder, engineModelFolder, engines, repository } from '../../infra/setup/locations.mjs';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'genenv-engines-'));
  vi.stubEnv('XDG_CACHE_HOME', folder);
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const command = join(repository, 'infra/setup/install-engines.mjs');
const executable = (name: string, script: string): string => {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
};
/** A Python whose pip makes the target folder, and whose script makes the model as `convert` says. */
const environment = (convert: string) => ({
  HOME: folder,
  XDG_CACHE_HOME: folder,
  PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
  GENENV_PYTHON: executable(
    'python',
    `case "$*" in *"pip install"*) mkdir -p "$9" ;; *convert*) ${convert} ;; esac`,
  ),
  GENENV_TEMPORAL: executable('temporal', 'exit 0'),
});
const install = (args: string[], env: Record<string, string>) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};
const cached = () => readdirSync(join(folder, 'genenv'));

describe('npm run engines', () => {
  test('without names lists all of them with size, time and whether they are installed', () => {
    const { status, stdout } = install([], environment('exit 1'));
    expect(status).toBe(0);
    for (const [name, { what }] of Object.entries(engines))
      expect(stdout).toMatch(new RegExp(`${name} +${what.slice(0, 20)}`));
    expect(stdout).toContain('2.7 GB to download, 5.7 GB on disk, 2 to 15 minutes; not installed');
  });

  test('says size and time before it installs, keeps what it made, and finds it the next time', async () => {
    const env = environment('mkdir "$3"; echo weights > "$3/model.safetensors"');
    const first = install(['smollm2'], env);
    expect(first.stderr).toMatch(/^smollm2: .*93 MB to download, 542 MB on disk, one or two minutes\n/);
    expect(first).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(/Engine smollm2 +ready in/) as string,
    });
    expect(readFileSync(join(engineFolder('smollm2'), 'model.safetensors'), 'utf8')).toBe('weights\n');
    expect(await engineReady('smollm2')).toBe(true);
    expect(install(['smollm2'], environment('exit 1')).stderr).toMatch(/Engine smollm2 +skipped \(ready\)/);
  });

  test('a conversion that fails leaves nothing', async () => {
    const { status, stderr } = install(
      ['smollm2'],
      environment('mkdir "$3"; echo "smollm2: error: the tensors are other ones" >&2; exit 1'),
    );
    expect(status).toBe(1);
    expect(stderr).toContain('the tensors are other ones');
    expect(stderr).toContain('What to do: check that the package index can be reached');
    expect(cached()).toEqual([]);
    expect(await engineReady('smollm2')).toBe(false);
  });

  test('killed half-way it leaves nothing that looks ready, and the next time cleans up', async () => {
    const killed = spawn(process.execPath, [command, 'smollm2'], {
      env: environment('mkdir "$3"; echo half > "$3/model.safetensors"; exec sleep 60'),
      detached: true,
      stdio: 'ignore',
    });
    const half = () => join(folder, 'genenv', cached()[0] ?? '', 'engine/model.safetensors');
    await vi.waitFor(() => expect(existsSync(half())).toBe(true), { timeout: 20_000, interval: 50 });
    const ended = new Promise((resolve) => killed.on('close', resolve));
    process.kill(-(killed.pid ?? 0), 'SIGKILL');
    await ended;
    expect(await engineReady('smollm2')).toBe(false);
    expect(existsSync(engineFolder('smollm2'))).toBe(false);
    expect(install(['smollm2'], environment('mkdir "$3"')).status).toBe(0);
    expect(cached()).toEqual([engineFolder('smollm2').slice(dirname(engineFolder('smollm2')).length + 1)]);
  });

  test('an unknown name is bad input', () => {
    expect(install(['smollm2', 'doom'], environment('exit 1'))).toEqual({
      status: 2,
      stdout: '',
      stderr: `engines: got "doom"; allowed: ${Object.keys(engines).sort().join(', ')}\n`,
    });
  });
});

test('a model that is an engine is in the cache folder, or where its variable says', () => {
  expect(engineModelFolder('smollm2')).toMatch(new RegExp(`^${folder}/genenv/smollm2-[0-9a-f]{12}$`));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', '/models/smollm2');
  expect(engineModelFolder('smollm2')).toBe('/models/smollm2');
  expect(engineModelFolder('vllm')).toBeNull();
});

describe('locks', () => {
  const lock = (name: string) => readFileSync(join(repository, `infra/engines/${name}`), 'utf8');

  test('every package is pinned by version and hash', () => {
    for (const name of ['vllm.txt', 'smollm2.txt', 'ray.txt', 'trackers.txt']) {
      const entries = lock(name)
        .split(/\n(?=\S)/)
        .filter((entry) => !entry.startsWith('#'));
      expect(entries.length).toBeGreaterThan(1);
      for (const entry of entries)
        expect(entry).toMatch(/^[\w.-]+(\[.*\])?==\S+.*\\\n +--hash=sha256:[0-9a-f]{64}/);
    }
  });
  test('that of vLLM has the rows of Python 3.11 and 3.13, and torch without a local version', () => {
    const text = lock('vllm.txt');
    expect(text).toMatch(/^numpy==\S+ ; python_full_version < '3\.13'/m);
    expect(text).toMatch(/^numpy==\S+ ; python_full_version >= '3\.13'/m);
    expect(text).toMatch(/^torch==[\d.]+ \\$/m);
  });
});
