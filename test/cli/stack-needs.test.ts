import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { engineFolder, pythonPath, temporalPath } from '../../infra/setup/locations.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { leftovers } from '../../src/dev-stack/leftovers.ts';
import { identify } from '../../src/runtime/process-identity.ts';
import {
  emptyRecord,
  readStackRecord,
  stackPaths,
  takeStackLock,
  writeStackRecord,
} from '../../src/dev-stack/record.ts';
import type { StackAddresses } from '../../src/dev-stack/record.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from './genenv-process.ts';

let home: string;
let file: string;
let environment: Record<string, string>;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'genenv-needs-'));
  const [python, temporal] = [pythonPath(), temporalPath()];
  // A cache folder of its own, in which engines are installed or not as the test says.
  vi.stubEnv('XDG_CACHE_HOME', join(home, 'cache'));
  environment = {
    GENENV_HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    GENENV_PYTHON: python,
    GENENV_TEMPORAL: temporal,
  };
  file = join(home, 'vllm.json');
  const model = { type: 'pretrained', path: '/models/small', adapter: { r: 8 } };
  const { agent, environment: simulator, ...rest } = tinyExperiment() as Record<string, object>;
  writeFileSync(
    file,
    JSON.stringify({
      ...rest,
      agent: { ...agent, model },
      environment: { ...simulator, model },
      serving: { type: 'vllm' },
    }),
  );
});
afterEach(() => {
  vi.unstubAllEnvs();
  for (const { pid } of leftovers(home, readStackRecord(stackPaths(home).record)))
    process.kill(pid, 'SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

test(
  'an evaluation of what needs no server starts neither policy server nor trainer',
  { timeout: 180_000 },
  async () => {
    // Another stack may have the standard port, and runs that need more.
    const taken = createServer()
      .listen(7233, '127.0.0.1')
      .on('error', () => undefined);
    onTestFinished(() => void taken.close());
    const { code, out, err } = await genenv(
      ['evaluate', '--policy', 'gold', '--suite', 'bamboogle_closedbook', '--limit', '2'],
      environment,
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/Temporal server: ready in [\d.]+ s\nWorker: ready in/);
    expect(out).not.toMatch(/Policy server|Trainer|vLLM/);
  },
);

test('a file that needs vLLM says how to install it, before anything starts', async () => {
  const { code, err } = await genenv(['run', file], environment);
  expect(code).toBe(2);
  expect(err).toMatch(
    /serving: vLLM is not installed in .*; run `npm run engines -- vllm`, or name a server/,
  );
  const up = await genenv(['up', file], environment);
  expect(up).toMatchObject({ code: 2, err });
});

test('an evaluation of a run on vLLM says how to install it, before anything starts', async () => {
  await new RunFolder(join(home, 'runs'), 'on-vllm').writeExperiment(
    parseExperiment(JSON.parse(readFileSync(file, 'utf8'))),
  );
  const evaluated = await genenv(
    ['evaluate', '--policy', 'on-vllm', '--suite', 'bamboogle_closedbook'],
    environment,
  );
  expect(evaluated).toMatchObject({ code: 2, out: '' });
  expect(evaluated.err).toMatch(/serving: vLLM is not installed in .*; run `npm run engines -- vllm`/);
});

/** A stack of `genenv up`, or of another command, as others see it, run by this process. */
function pretendUp(
  addresses: Pick<StackAddresses, 'policyServer' | 'vllm'> & { ui?: null },
  command: 'up' | 'run' = 'up',
): void {
  const paths = stackPaths(home);
  const lock = takeStackLock(paths.lock);
  onTestFinished(() => {
    lock?.release();
    writeStackRecord(paths.record, emptyRecord());
  });
  const owner = identify(process.pid);
  writeStackRecord(paths.record, {
    ...emptyRecord(),
    owner: owner && { ...owner, command },
    state: 'ready',
    addresses: { temporal: '127.0.0.1:9', namespace: 'default', ui: '', trainerSocket: '', ...addresses },
  });
}

test('a run that joins a stack without the vLLM that it needs is told so, and what to do', async () => {
  const vllm = engineFolder('vllm');
  mkdirSync(vllm, { recursive: true });
  writeFileSync(join(vllm, 'genenv-ready.json'), '{}');

  pretendUp({ policyServer: 'http://127.0.0.1:9/v1', vllm: null });
  const without = await genenv(['run', file], environment);
  expect(without.code).toBe(4);
  const lacks = 'the stack of `genenv up` runs no vLLM; end it with `genenv down`';
  expect(without.err).toContain(lacks);
  const up = await genenv(['up', file], environment);
  expect(up).toMatchObject({ code: 4, err: expect.stringContaining(lacks) as string });

  const settings = {
    model: '/models/small',
    precision: 'float32' as const,
    maxLoraRank: 8,
    maxModelLen: 512,
  };
  pretendUp({ policyServer: null, vllm: { url: 'http://127.0.0.1:9/v1', settings } });
  const another = await genenv(['run', file], environment);
  expect(another.code).toBe(4);
  expect(another.err).toContain(
    'runs vLLM with /models/small in float32, LoRA rank 8, 512 tokens, and this file needs it with ' +
      '/models/small in float32, LoRA rank 8, all positions of the model; end it with `genenv down`',
  );
});

test('another `genenv up` prints the stack that runs, and says what it lacks', async () => {
  pretendUp({ policyServer: 'http://127.0.0.1:9/v1', vllm: null, ui: null });
  const [again, withUi, foreground] = await Promise.all(
    [['up'], ['up', '--ui'], ['up', '--foreground']].map((args) => genenv(args, environment)),
  );
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('127.0.0.1:9') as string, err: '' });
  expect(withUi).toMatchObject({ code: 4, err: expect.stringContaining('--ui: the stack') as string });
  expect(foreground).toMatchObject({
    code: 4,
    err: expect.stringMatching(/^genenv: `genenv up` .*\n$/) as string,
  });
});

test('`genenv up` beside the stack of a run says whose it is, and nothing that would end it', async () => {
  mkdirSync(engineFolder('vllm'), { recursive: true });
  writeFileSync(join(engineFolder('vllm'), 'genenv-ready.json'), '{}');
  pretendUp({ policyServer: null, vllm: null, ui: null }, 'run');
  for (const args of [['up'], ['up', file], ['up', '--ui']]) {
    const { code, out, err } = await genenv(args, environment);
    expect({ code, out }).toEqual({ code: 4, out: '' });
    expect(err).toMatch(
      /^genenv: `genenv run` \(process \d+\) runs the stack of .*; wait until it has ended/,
    );
    expect(err).not.toContain('genenv down');
  }
});
