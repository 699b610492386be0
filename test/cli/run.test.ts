import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { leftovers } from '../../src/stack/leftovers.ts';
import { readStackRecord } from '../../src/stack/stack-record.ts';
import { stackPaths } from '../../src/stack/stack-paths.ts';
import { tinyExperiment } from '../support/tiny-experiment.ts';
import { genenv, startGenenv } from './genenv-process.ts';

// The real stack: Temporal, policy server, trainer and worker, with two real models.
const MINUTES = 60_000;
let home: string;
let file: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'genenv-run-'));
  file = join(home, 'tiny.json');
  writeFileSync(file, JSON.stringify(tinyExperiment()));
});
afterAll(() => {
  for (const { pid } of leftovers(home, readStackRecord(stackPaths(home).record))) process.kill(pid, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
});
const stackOf = () => readStackRecord(stackPaths(home).record);

test('Ctrl-C stops cleanly, a killed command leaves a stack that the next one takes over, and the run goes on to its end', { timeout: 8 * MINUTES }, async () => {
  const first = startGenenv(['run', file], { GENENV_HOME: home });
  await vi.waitFor(() => expect(first.out()).toContain('preparing: warm up'), { timeout: 4 * MINUTES, interval: 100 });
  first.child.kill('SIGINT');
  const interrupted = await first.ended;
  expect(interrupted.out).toContain('SIGINT: stopping; what is under way is saved.');
  expect(interrupted.out).toContain(`The same command goes on: npx genenv run ${file}`);
  expect(interrupted).toMatchObject({ code: 130, err: '' });
  expect(leftovers(home, stackOf())).toEqual([]);

  const second = startGenenv(['run', file], { GENENV_HOME: home });
  await vi.waitFor(() => expect(second.out()).toContain('epoch 1/3'), { timeout: 4 * MINUTES, interval: 100 });
  second.child.kill('SIGKILL');
  await second.ended;
  expect(leftovers(home, stackOf()).length).toBeGreaterThanOrEqual(4);

  const third = await genenv(['run', file], { GENENV_HOME: home });
  expect(third).toMatchObject({ code: 0, err: '' });
  expect(third.out).toContain('Worker: still running, taken over');
  expect(third.out).toMatch(/^tiny: finished after 3 epochs; ledger [0-9a-f]{12}$/m);
  expect(third.out).toMatch(/^epochs +success +in band/m);
  expect(third.out).toContain(`Report: ${join(home, 'runs/tiny/report.html')}`);
  expect(existsSync(join(home, 'runs/tiny/report.html'))).toBe(true);
  expect(leftovers(home, stackOf())).toEqual([]);
  expect(readFileSync(join(home, 'runs/tiny/ledger.jsonl'), 'utf8').trim().split('\n')).toHaveLength(4);
  expect((await genenv(['verify', 'tiny'], { GENENV_HOME: home })).code).toBe(0);
});

test('up leaves a stack that run uses and leaves running, and down ends it', { timeout: 6 * MINUTES }, async () => {
  const up = await genenv(['up'], { GENENV_HOME: home });
  expect(up).toMatchObject({ code: 0, err: '' });
  expect(up.out).toMatch(/^Temporal {6}127\.0\.0\.1:\d+$/m);
  const { addresses } = stackOf();
  const environment = { GENENV_HOME: home };

  const doctor = await genenv(['doctor'], environment);
  expect(doctor.out).toMatch(new RegExp(`^ok +Temporal server +${addresses?.temporal ?? ''}, namespace default`, 'm'));
  expect(doctor.out).toMatch(/^ok +Policy server /m);
  expect(doctor.code).toBe(0);

  // The same preparation: what is content-addressed is found.
  const run = await genenv(['run', file, '--id', 'again'], environment);
  expect(run.out).toContain('Using the stack of `genenv up`');
  expect(run.code).toBe(0);
  const last = (id: string): string => readFileSync(join(home, `runs/${id}/ledger.jsonl`), 'utf8');
  expect(last('again')).toBe(last('tiny'));
  expect(stackOf()).toMatchObject({ state: 'ready', addresses });

  const down = await genenv(['down'], environment);
  expect(down.out).toMatch(/Stopping `genenv up` \(process \d+\) and its stack \.\.\.\nStopped\.\n/);
  expect(down.code).toBe(0);
  expect(leftovers(home, stackOf())).toEqual([]);
});
