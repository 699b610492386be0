import { execFile } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pythonPath } from '../../infra/setup/locations.mjs';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import type { Progress } from '../../src/types/activity-types.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

/**
 * Real runs on a real server, with real models: through the plain Temporal CLI, and disturbed in each phase.
 * The promise: a run that was disturbed ends with the ledger of the run nobody disturbed, byte for byte (it
 * holds the hashes of all that the run made).
 */

let stack: LiveStack;
let undisturbed: string;
const file = tinyExperiment();
const json = (text: string): unknown => JSON.parse(text);
const ledger = (id: string): string => stack.ledger(id);
const entries = (id: string): LedgerEntry[] => stack.entries(id);
const start = (id: string, input: unknown = file) => stack.startRun(id, input);
const inputFile = (content: unknown): string => {
  const path = join(stack.home, 'input.json');
  writeFileSync(path, JSON.stringify(content));
  return path;
};

beforeAll(async () => {
  stack = await LiveStack.start();
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
      rolloutsPlanned: 64,
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
      await using worker = await stack.startWorker();
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
      await worker.stop();
    },
    60_000,
  );
});

describe('the ledger of a disturbed run equals that of the undisturbed one', () => {
  test('nobody disturbs it, and the training queue has a worker of its own', async () => {
    await using trainer = await stack.startWorker({ queues: 'gpu' });
    await using rest = await stack.startWorker({ queues: 'workflows,llm,cpu' });
    await (await start('again')).result();
    await Promise.all([trainer.stop(), rest.stop()]);
    expect(ledger('again')).toBe(undisturbed);
  }, 90_000);

  test.each([
    ['rollOut', '30ms'],
    ['trainAgent', '40ms'],
    ['commitEpoch', 'after'],
  ])(
    'the worker is killed in %s (%s)',
    async (activity, when) => {
      const id = `killed-${activity}`;
      const doomed = await stack.startWorker({ fault: `SIGKILL:${activity}:2:${when}` });
      const run = await start(id);
      await doomed.exited;
      await using worker = await stack.startWorker();
      await run.result();
      await worker.stop();
      expect(ledger(id)).toBe(undisturbed);
    },
    120_000,
  );

  test('the answer of a finished training step is lost', async () => {
    await using worker = await stack.startWorker({ fault: ':trainAgent:2:lost' });
    await (await start('lost')).result();
    await worker.stop();
    expect(ledger('lost')).toBe(undisturbed);
  }, 90_000);

  test('a training step never comes back: its place on the device, the only one, is taken by the next attempt', async () => {
    await using worker = await stack.startWorker({ fault: ':trainAgent:2:stuck' });
    await (await start('stuck')).result();
    await worker.stop();
    expect(ledger('stuck')).toBe(undisturbed);
  }, 120_000);

  test('the policy server is killed, and comes back', async () => {
    await using worker = await stack.startWorker({ fault: ':rollOut:2:before' });
    const run = await start('no-policy-server');
    stack.policy.signal('SIGKILL');
    await stack.policy.exited;
    stack.startPolicyServer();
    await run.result();
    await worker.stop();
    expect(ledger('no-policy-server')).toBe(undisturbed);
  }, 120_000);

  test('Temporal loses its database, and the same id is started again on an empty server', async () => {
    const doomed = await stack.startWorker({ fault: 'SIGKILL:drawTasks:3:before' });
    await start('forgotten');
    await doomed.exited;
    await stack.temporal.stop('SIGKILL');
    for (const suffix of ['', '-shm', '-wal'])
      rmSync(join(stack.home, `temporal.db${suffix}`), { force: true });
    stack.startTemporal();
    await stack.connect();
    expect(entries('forgotten')).toHaveLength(3);
    await using worker = await stack.startWorker();
    await (await start('forgotten')).result();
    await worker.stop();
    expect(ledger('forgotten')).toBe(undisturbed);
  }, 120_000);
});
