import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import type { TestProcess } from '../../test-support/processes.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/** Real runs on a real server, with real models, through the plain Temporal CLI. */

let stack: LiveStack;
let undisturbed: string;
const file = tinyExperiment();
const json = (text: string): unknown => JSON.parse(text);
const ledger = (id: string): string => stack.ledger(id);
const entries = (id: string): LedgerEntry[] => stack.entries(id);
const inputFile = (content: unknown): string => {
  const path = join(stack.home, 'input.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
};

beforeAll(async () => {
  stack = await LiveStack.shared();
  await stack.policyReady();
  await using worker = await stack.startWorker();
  await stack.temporalCli(
    'workflow',
    'execute',
    '--type',
    'experiment',
    '--task-queue',
    'genenv',
    '--workflow-id',
    'undisturbed',
    '--input-file',
    inputFile(file),
  );
  undisturbed = ledger('undisturbed');
  await worker.stop();
}, 240_000);
afterAll(async () => stack[Symbol.asyncDispose](), 60_000);

describe('a run through the plain Temporal CLI', () => {
  test('commits every epoch, and verifies', async () => {
    expect(entries('undisturbed').map(({ epoch }) => epoch)).toEqual([0, 1, 2, 3]);
    const report = await verifyRun(new ObjectStore(join(stack.home, 'store')), stack.run('undisturbed'));
    expect(report.problems).toEqual([]);
    expect(report.objects).toBeGreaterThan(20);
  });

  test('trains both policies, and sampler and trainer agree', () => {
    const [, first, , last] = entries('undisturbed');
    expect(last!.outputs.state.agent.checkpoint?.sha256).not.toBe(
      first!.outputs.state.initial_agent.checkpoint?.sha256,
    );
    expect(last!.outputs.state.environment.checkpoint?.sha256).not.toBe(
      first!.outputs.state.initial_environment.checkpoint?.sha256,
    );
    expect(first!.metrics['sampling/sampling_logp_difference/mean']).toBeLessThan(1e-4);
    expect(last!.metrics['eval/heldout']).toBeTypeOf('number');
  });

  test('can be found, described and queried', async () => {
    await using worker = await stack.startWorker();
    const listed = await stack.temporalCli(
      'workflow',
      'list',
      '--query',
      "GenEnvExperiment = 'tiny' AND GenEnvArm = 'genenv-tuned' AND GenEnvEpoch = 3 AND GenEnvSuccessRate >= 0",
    );
    expect(listed).toContain('undisturbed');
    const queried = await stack.temporalCli(
      'workflow',
      'query',
      '--workflow-id',
      'undisturbed',
      '--type',
      'progress',
      '--output',
      'json',
    );
    const progress = (json(queried) as { queryResult: Progress[] }).queryResult[0];
    expect(progress).toMatchObject({
      experiment: 'tiny',
      status: 'finished',
      epoch: 3,
      epochs: 3,
      rolloutsPlanned: 80,
    });
    const shown = await stack
      .temporalCli('workflow', 'metadata', '--workflow-id', 'undisturbed')
      .catch(() => '');
    if (shown !== '') expect(shown).toContain('held-out success');
    await worker.stop();
  }, 60_000);

  test('leaves records that datasets reads and checkpoints that transformers loads', async () => {
    const { outputs } = entries('undisturbed')[3]!;
    const path = (uri: string): string => join(stack.home, 'store', uri);
    const code = [
      'import sys, json, datasets, transformers',
      'tasks, traces, rewards, agent, environment = sys.argv[1:]',
      'counts = [datasets.load_dataset("json", data_files=f, split="train", cache_dir=sys.argv[1] + ".cache").num_rows for f in (tasks, traces, rewards)]',
      'models = [transformers.AutoModelForCausalLM.from_pretrained(f).num_parameters() for f in (agent, environment)]',
      'text = transformers.AutoTokenizer.from_pretrained(agent).decode(transformers.AutoTokenizer.from_pretrained(agent)("T(ab)").input_ids, skip_special_tokens=True)',
      'print(json.dumps({"counts": counts, "models": models, "text": text}))',
    ].join('\n');
    const { state } = outputs;
    const args = [
      '-c',
      code,
      ...[
        outputs.tasks!,
        outputs.traces[0]!,
        outputs.rewards!,
        state.agent.checkpoint!,
        state.environment.checkpoint!,
      ].map(({ uri }) => path(uri)),
    ];
    const { stdout } = await promisify(execFile)(pythonPath(), args, {
      env: { ...process.env, HF_HUB_OFFLINE: '1', HF_DATASETS_CACHE: join(stack.home, 'datasets') },
    });
    const read = json(stdout.trim().split('\n').at(-1)!) as {
      counts: number[];
      models: number[];
      text: string;
    };
    expect(read.counts).toEqual([outputs.tasks!.count, outputs.traces[0]!.count, outputs.rewards!.count]);
    expect(read.models.every((parameters) => parameters > 1_000)).toBe(true);
    expect(read.text.replaceAll(' ', '')).toBe('T(ab)');
  }, 90_000);
});

describe('wrong input through the plain Temporal CLI fails at once and writes nothing', () => {
  let worker: TestProcess;
  beforeAll(async () => {
    worker = await stack.startWorker();
  }, 60_000);
  afterAll(() => worker.stop(), 60_000);

  test.each([
    ['no input at all', 'nothing', undefined, 'no input was given'],
    ['a number', 'number', 3, 'experiment: got 3; expected an object'],
    [
      'an unknown field',
      'unknown',
      { ...file, epoch: 3 },
      'experiment: epoch: unknown field; did you mean "epochs"?',
    ],
    ['an id that cannot be one', '.hidden', file, 'workflow id: got ".hidden"'],
    ['another file under an old id', 'undisturbed', { ...file, seed: 8 }, 'seed: was 7, is 8'],
  ])(
    '%s',
    async (_, id, content, message) => {
      const input = content === undefined ? [] : ['--input-file', inputFile(content)];
      const failure = await stack
        .temporalCli(
          'workflow',
          'execute',
          '--type',
          'experiment',
          '--task-queue',
          'genenv',
          '--workflow-id',
          id,
          ...input,
        )
        .then(
          () => 'it did not fail',
          (error: unknown) => String(error),
        );
      expect(failure).toContain(message);
      await expect(stack.client.workflow.getHandle(id).result()).rejects.toMatchObject({
        cause: { cause: { type: 'InvalidConfig', nonRetryable: true } },
      });
      if (id !== 'undisturbed') expect(existsSync(join(stack.home, 'runs', id))).toBe(false);
      expect(ledger('undisturbed')).toBe(undisturbed);
    },
    60_000,
  );
});
