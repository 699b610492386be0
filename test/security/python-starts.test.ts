import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkEnvironment } from '../../src/cli/lib/environment-checks.ts';
import { Python } from '../../src/processes/python.ts';
import { JobFolder } from '../../src/training/job-folder.ts';
import { processLauncher } from '../../src/training/process-launcher.ts';
import { writeTensorboard } from '../../src/tracking/write-tensorboard.ts';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { until } from '../../test-support/processes.ts';
import { filesBelow, read } from '../infra/repository.ts';
import { makeRun } from '../report/make-run.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const secret = 'canary-of-the-worker';
/** Modules that the starts import, or that Python runs: in a folder of somebody else's, they are theirs. */
const planted = [
  'fcntl',
  'json',
  'torch',
  'tokenizers',
  'genenv_trainer',
  'genenv_trackers',
  'tensorboard',
  'sitecustomize',
];

describe('a start of Python takes no code from the working directory', () => {
  const before = process.cwd();
  let folder: string;
  let home: string;
  beforeEach(async () => {
    folder = await temporaryFolder();
    home = await temporaryFolder();
    for (const name of planted)
      writeFileSync(
        join(folder, `${name}.py`),
        `open(${JSON.stringify(join(folder, 'ran'))}, 'a').write(__name__ + '\\n')\n`,
      );
    process.chdir(folder);
  });
  afterEach(() => process.chdir(before));

  const environment = { ...process.env, OPENAI_API_KEY: secret };
  const python = new Python(pythonPath(), environment);
  const starts: Record<string, () => Promise<unknown>> = {
    'the test of a lock': () => {
      writeFileSync(join(home, 'lock'), '');
      return new JobFolder(home, python, () => undefined).isAlive();
    },
    'a training job': async () => {
      await processLauncher(python, {}).submit({ key: 'a'.repeat(64), fence: 1, folder: home });
      await until(() => readFileSync(join(home, 'log.txt'), 'utf8') !== '', 30_000, 'the end of the job');
    },
    'TensorBoard files': async () => {
      await makeRun({ home, runId: 'a', epochs: 1 });
      await writeTensorboard({ home, runId: 'a', env: environment });
    },
    'the check of the environment': () =>
      checkEnvironment({ env: { ...environment, GENENV_HOME: home } } as never),
  };
  test.each(Object.keys(starts))('%s', async (name) => {
    await starts[name]!();
    expect(existsSync(join(folder, 'ran')) && readFileSync(join(folder, 'ran'), 'utf8')).toBe(false);
  });
});

test('a process of Python gets no secret of the environment', async () => {
  const python = new Python(pythonPath(), { ...process.env, OPENAI_API_KEY: secret, PYTHONSAFEPATH: '' });
  const said = await python.run(['-c', 'import os; print(dict(os.environ))'], {
    variables: { ITS_OWN: '1' },
  });
  expect(said).not.toContain(secret);
  expect(said).toContain("'ITS_OWN': '1'");
  expect(said).toContain("'PYTHONSAFEPATH': '1'");
  expect(python.start([], { PYTHONSAFEPATH: '' }).env).toMatchObject({ PYTHONSAFEPATH: '1' });
});

test('only one file starts Python', () => {
  const sources = filesBelow('src').filter((path) => path.endsWith('.ts'));
  const starters = sources.filter((path) =>
    /^import (?!type\b)[^;]*from '(node:)?child_process'|import\('(node:)?child_process'\)/m.test(read(path)),
  );
  expect(starters.sort()).toEqual([
    'src/cli/lib/environment-checks.ts',
    'src/cli/lib/run-trackers.ts',
    'src/cli/lib/stack.ts',
    'src/dev-stack/processes.ts',
    'src/processes/program.ts',
    'src/processes/python.ts',
    'src/runtime/process-identity.ts',
  ]);
  // The rest start Node, Temporal, `ps`, or what a service says; of Python, services say what `Python` says.
  const withArguments = sources.filter((path) => /\[\s*'-[cm]',|\.\.\.\['-m',/.test(read(path)));
  // A sidecar is started by `Python` too.
  for (const path of withArguments)
    expect(read(path), path).toMatch(
      /import (type )?\{ Python \} from '[./]+\/processes\/python\.ts'|import \{ Sidecar \} from/,
    );
  // A Pod's container starts it, with PYTHONSAFEPATH (src/worker/launchers.ts).
  expect(sources.filter((path) => /command: .*[pP]ython/.test(read(path)))).toEqual([
    'src/training/kubernetes-objects.ts',
  ]);
  expect(sources.filter((path) => /(spawn|execFile|runProgram)\([^)]*[pP]ython/.test(read(path)))).toEqual(
    [],
  );
});
