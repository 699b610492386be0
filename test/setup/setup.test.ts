import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  cachedTemporal,
  engineFolder,
  engines,
  pythonPath,
  repository,
  temporalPath,
} from '../../infra/setup/locations.mjs';
import { linkNode, nodePackagesReady } from '../../infra/setup/node-packages.mjs';
import { withoutTorch } from '../../infra/setup/python-environment.mjs';
import { run } from '../../infra/setup/run-command.mjs';
import { runSteps } from '../../infra/setup/steps.mjs';
import type { Step } from '../../infra/setup/steps.mjs';
import { downloadTemporal, temporalHashes } from '../../infra/setup/temporal-executable.mjs';
import { buildingFolder } from '../../infra/setup/unfinished.mjs';
import { countJunit, countTwice, countVitest, failedFiles } from '../../infra/test-counts.mjs';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'genenv-setup-'))));
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const executable = (name: string, script: string): string => {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
};

test('what a command says on standard error is in its failure, not in its answer', async () => {
  // As `go` does where it downloads itself first.
  const command = executable('go', 'echo "go: downloading" >&2; echo "{}"; exit "$1"');
  expect(JSON.parse(await run(command, ['0']))).toEqual({});
  await expect(run(command, ['1'])).rejects.toThrow(/ended with exit code 1:[^]*go: downloading/);
});

describe('steps', () => {
  const step = (changes: Partial<Step> = {}): Step => ({
    name: 'Thing',
    doing: 'making it',
    ready: () => Promise.resolve(false),
    run: () => Promise.resolve(),
    remedy: 'do this',
    ...changes,
  });
  const printed = async (steps: Step[], quiet = false): Promise<{ ready: boolean; lines: string[] }> => {
    const lines: string[] = [];
    const ready = await runSteps(steps, {
      quiet,
      print: (line) => lines.push(line.replace(/[\d.]+ s/, 'N s')),
    });
    return { ready, lines };
  };
  const done = step({ name: 'Done', ready: () => Promise.resolve(true) });

  test('say what they do, how long it took, and that there is nothing to do', async () => {
    expect(await printed([done, step()])).toEqual({
      ready: true,
      lines: ['Done   skipped (ready)', 'Thing  making it ...', 'Thing  ready in N s'],
    });
    expect((await printed([done, step()], true)).lines).toEqual([
      'Thing  making it ...',
      'Thing  ready in N s',
    ]);
  });
  test('a failure has its remedy, and nothing comes after it', async () => {
    const broken = step({ run: () => Promise.reject(new Error('no network')) });
    expect(await printed([broken, done])).toEqual({
      ready: false,
      lines: ['Thing  making it ...', 'Thing  failed after N s: no network', 'What to do: do this.'],
    });
  });
});

test('Node packages are ready only when what is installed is what the lock names', () => {
  const lock = (packages: object) => JSON.stringify({ packages });
  const wanted = {
    '': {},
    'node_modules/a': { version: '1.0.0', integrity: 'x' },
    'node_modules/b': { version: '2.0.0', integrity: 'y', optional: true },
  };
  writeFileSync(join(folder, 'package-lock.json'), lock(wanted));
  expect(nodePackagesReady(folder)).toBe(false);
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(folder, 'node_modules/.bin/node'), '');
  const installed = (packages: object) =>
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), lock(packages));
  installed({ 'node_modules/a': { version: '1.0.0', integrity: 'x' } });
  expect(nodePackagesReady(folder)).toBe(true);
  installed({ 'node_modules/a': { version: '0.9.0', integrity: 'w' } });
  expect(nodePackagesReady(folder)).toBe(false);
});

test('all code runs on a Node that the lock has by its hash', () => {
  const { packages } = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string; hasInstallScript?: boolean; optional?: boolean }>;
  };
  for (const platform of ['linux-x64', 'linux-arm64'])
    expect(packages[`node_modules/node-${platform}`]).toMatchObject({
      version: '24.21.0',
      integrity: expect.stringMatching(/^sha512-/) as string,
      optional: true,
    });
  // Whatever brings code by a script of its own brings it past the lock.
  expect(packages).not.toHaveProperty('node_modules/node');
  const unlocked = Object.entries(packages).filter(
    ([path, { integrity }]) => path !== '' && integrity === undefined,
  );
  expect(unlocked).toEqual([]);
});

describe('the Temporal executable', () => {
  const serve = async (body: string): Promise<string> => {
    const server = createServer((_, response) => response.end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  test('of another hash is not unpacked', async () => {
    const from = await serve('an archive that somebody has changed');
    await expect(downloadTemporal(folder, { machine: 'linux-amd64', from })).rejects.toThrow(
      /linux_amd64.tar.gz has the sha256 [0-9a-f]{64}, and not ddc95e08[0-9a-f]{56}; it is not used/,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is not downloaded for a machine without a known hash', async () => {
    await expect(
      downloadTemporal(folder, { machine: 'freebsd-amd64', from: await serve('') }),
    ).rejects.toThrow('no hash of Temporal 1.5.1 for freebsd-amd64 is known; nothing is downloaded');
  });

  test('has a hash for each machine that set-up is for', () => {
    for (const hash of Object.values(temporalHashes)) expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(Object.keys(temporalHashes)).toEqual([
      'linux-amd64',
      'linux-arm64',
      'darwin-amd64',
      'darwin-arm64',
    ]);
  });
});

describe('a machine for which the lock has no Node', () => {
  test('gets a link to one that is new enough', async () => {
    await linkNode(folder, [executable('old', 'echo v20.20.2'), null, executable('new', 'echo v24.3.0')]);
    expect(readlinkSync(join(folder, 'node_modules/.bin/node'))).toBe(join(folder, 'new'));
  });
  test('says which it needs without one', async () => {
    await expect(linkNode(folder, [executable('old', 'echo v22.18.0'), null])).rejects.toThrow(
      /no locked Node for .* and none of version 24 or newer on the PATH/,
    );
  });
  test('keeps the one that npm has linked', async () => {
    mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
    executable('node_modules/.bin/node', 'echo v24.21.0');
    await linkNode(folder, []);
  });
});

test('the places of Python and Temporal follow XDG_CACHE_HOME, PATH and their own variables', () => {
  vi.stubEnv('GENENV_PYTHON', '');
  vi.stubEnv('GENENV_TEMPORAL', '');
  vi.stubEnv('XDG_CACHE_HOME', folder);
  vi.stubEnv('PATH', folder);
  expect(pythonPath()).toMatch(new RegExp(`^${folder}/genenv/python-[0-9a-f]{12}/bin/python$`));
  expect(temporalPath()).toBe(cachedTemporal());
  const own = executable('temporal', 'exit 0');
  expect(temporalPath()).toBe(own);
  vi.stubEnv('GENENV_TEMPORAL', '/opt/temporal');
  vi.stubEnv('GENENV_PYTHON', '/opt/python');
  expect([temporalPath(), pythonPath()]).toEqual(['/opt/temporal', '/opt/python']);
});

test('what killed set-ups left is removed, what a living one builds is not', () => {
  const target = join(folder, 'cache/python-1');
  const [dead, living] = [`${target}.building-999999999`, `${target}.building-${process.ppid}`];
  for (const path of [dead, living]) mkdirSync(path, { recursive: true });
  expect(buildingFolder(target)).toBe(`${target}.building-${process.pid}`);
  expect([existsSync(dead), existsSync(living)]).toEqual([false, true]);
});

test('a lock without torch has none of its packages, and keeps the hashes of the others', () => {
  const lock =
    'numpy==2.4.6 \\\n    --hash=sha256:aa\ntorch==2.15.0 \\\n    --hash=sha256:bb\nnvidia-cublas==13 ; sys_platform == "linux" \\\n    --hash=sha256:cc\ntorchmetrics==1 \\\n    --hash=sha256:dd\n';
  expect(withoutTorch(lock)).toBe(
    'numpy==2.4.6 \\\n    --hash=sha256:aa\ntorchmetrics==1 \\\n    --hash=sha256:dd\n',
  );
});

describe('the command', () => {
  const setUp = (args: string[], env: Record<string, string>) => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(repository, 'infra/setup/setup.mjs'), ...args],
      {
        env: { HOME: folder, XDG_CACHE_HOME: folder, PATH: dirname(process.execPath), ...env },
        encoding: 'utf8',
      },
    );
    return { status, stderr };
  };

  test('skips everything that is ready, and --quiet says nothing then', () => {
    const ready = {
      GENENV_PYTHON: executable('python', 'exit 0'),
      GENENV_TEMPORAL: executable('temporal', 'exit 0'),
    };
    expect(setUp([], ready)).toEqual({
      status: 0,
      stderr:
        'Node packages        skipped (ready)\nPython environment   skipped (ready)\nTemporal executable  skipped (ready)\n',
    });
    expect(setUp(['--quiet'], ready)).toEqual({ status: 0, stderr: '' });
  });
  test('without Python: what failed, what to do, exit code 1, nothing half-built', () => {
    const { status, stderr } = setUp([], {});
    expect(stderr).toMatch(
      /Python environment {3}failed after [\d.]+ s: no Python from 3\.11 to 3\.13 with its venv module was found on the PATH\nWhat to do: install Python 3\.11, 3\.12 or 3\.13/,
    );
    expect(status).toBe(1);
    expect(existsSync(join(folder, 'genenv'))).toBe(true);
    expect(spawnSync('ls', [join(folder, 'genenv')], { encoding: 'utf8' }).stdout).toBe('');
  });
  test('a Python of the user that lacks the packages is named', () => {
    const { status, stderr } = setUp([], {
      GENENV_PYTHON: executable('python', 'echo "torch, peft" >&2; exit 1'),
    });
    expect(stderr).toContain(
      `GENENV_PYTHON=${join(folder, 'python')} lacks what trainer/requirements.txt names`,
    );
    expect(status).toBe(1);
  });
  test('a Temporal on the PATH that does not run is named, and nothing is fetched', () => {
    const shim = executable('temporal', 'echo "no version is set" >&2; exit 126');
    const { status, stderr } = setUp([], {
      GENENV_PYTHON: executable('python', 'exit 0'),
      PATH: `${dirname(shim)}:${dirname(process.execPath)}`,
    });
    expect(stderr).toContain(`${shim}, the first Temporal on the PATH, does not run here`);
    expect(status).toBe(1);
  });
  test('an unknown argument is bad input', () => {
    const names = Object.keys(engines).sort();
    expect(names).toEqual(expect.arrayContaining(['bfcl', 'smollm2', 'vllm']));
    expect(setUp(['--fast'], {})).toEqual({
      status: 2,
      stderr: `setup: unknown argument "--fast"; allowed: --quiet (print only what is not ready yet), --engines ${names.join()} (\`npm run engines\` says what these are)\n`,
    });
    expect(setUp(['--engines', 'bfcl,doom'], {})).toEqual({
      status: 2,
      stderr: `setup: unknown engine "doom"; allowed: ${names.join(', ')}\n`,
    });
    expect(setUp(['--engines'], {})).toEqual({
      status: 2,
      stderr: `setup: unknown engine ""; allowed: ${names.join(', ')}\n`,
    });
  });
  test('engines come only where they are asked for, each after its own lock', () => {
    const ready = {
      GENENV_PYTHON: executable('python', 'exit 0'),
      GENENV_TEMPORAL: executable('temporal', 'exit 0'),
    };
    vi.stubEnv('XDG_CACHE_HOME', folder);
    const environment = engineFolder('bfcl');
    expect(environment).toMatch(new RegExp(`^${folder}/genenv/bfcl-[0-9a-f]{12}$`));
    mkdirSync(join(environment, 'bin'), { recursive: true });
    writeFileSync(join(environment, 'bin/python'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    expect(setUp(['--engines', 'bfcl'], ready).stderr).toContain('Engine bfcl          failed');
    mkdirSync(join(environment, 'bin'), { recursive: true });
    writeFileSync(join(environment, 'genenv-ready.json'), '{}');
    expect(setUp(['--engines', 'bfcl'], ready)).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('Engine bfcl          skipped (ready)') as string,
    });
  });
});

describe('reports of suites', () => {
  const file = (status: string, ...tests: string[]) => ({
    name: '',
    status,
    assertionResults: tests.map((result, index) => ({ status: result, fullName: `test ${index + 1}` })),
  });
  const named = (name: string, ...rest: Parameters<typeof file>) => ({ ...file(...rest), name });
  const report = (...testResults: ReturnType<typeof file>[]): string => JSON.stringify({ testResults });

  test('of files that ran twice, the second report counts alone', () => {
    const first = report(
      named('/x/test/a.test.ts', 'passed', 'passed', 'skipped'),
      named('/x/test/b.test.ts', 'failed', 'passed', 'failed'),
      named('/x/test/c.test.ts', 'failed', 'failed'),
      named('/x/test/broken.test.ts', 'failed'),
    );
    expect(failedFiles(first)).toEqual([
      { file: '/x/test/b.test.ts', tests: ['test/b.test.ts: test 2'] },
      { file: '/x/test/c.test.ts', tests: ['test/c.test.ts: test 1'] },
      { file: '/x/test/broken.test.ts', tests: [] },
    ]);
    const second = report(
      named('/x/test/b.test.ts', 'passed', 'passed', 'passed'),
      named('/x/test/c.test.ts', 'failed', 'failed'),
    );
    expect(countTwice(first, second)).toEqual({ passed: 3, failed: 2 });
  });

  test('the counts of all suites come from their own reports', () => {
    expect(
      countVitest(
        report(file('passed', 'passed', 'passed'), file('failed', 'passed', 'failed'), file('failed')),
      ),
    ).toEqual({ passed: 3, failed: 2 });
    expect(
      countJunit(
        '<?xml?><testsuites><testsuite name="pytest" errors="1" failures="2" skipped="3" tests="10" time="1.5">',
      ),
    ).toEqual({ passed: 4, failed: 3 });
  });
});
