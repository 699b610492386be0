import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import { Python } from '../../src/processes/python.ts';
import { writeTensorboard } from '../../src/report/write-report.ts';
import { makeRun } from './make-run.ts';
import type { MadeRun } from './make-run.ts';

const python = new Python(pythonPath(), process.env);
const missing = existsSync(python.path) ? '' : ' (skipped: the trainer’s Python environment is not set up)';
let run: MadeRun;
let root = '';
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'genenv-tensorboard-'));
  run = await makeRun({ home: root, epochs: 2 });
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe.skipIf(missing !== '')(`TensorBoard files${missing}`, () => {
  it('hold the metrics of the run, written anew each time', async () => {
    await writeTensorboard({ home: run.home, runId: run.runId, python });
    await writeTensorboard({ home: run.home, runId: run.runId, python });
    const files = await readdir(run.run.tensorboardFolder);
    expect(files).toEqual([expect.stringContaining('tfevents')]);
    const events = await readFile(join(run.run.tensorboardFolder, files[0] ?? ''), 'latin1');
    for (const name of ['env/success_rate', 'eval/heldout', 'time/rollOut']) expect(events).toContain(name);
  });

  it('say what Python said where there are no metrics', async () => {
    await rm(run.run.metricsFile);
    await expect(writeTensorboard({ home: run.home, runId: run.runId, python })).rejects.toThrow(
      /Cannot write TensorBoard files of .*: .*no metrics\.jsonl there.* The run and its report are not affected\./,
    );
  });
});

it('need a Python that is there', async () => {
  await expect(
    writeTensorboard({ home: run.home, runId: run.runId, python: new Python(join(root, 'no-python'), {}) }),
  ).rejects.toThrow('ENOENT');
});
