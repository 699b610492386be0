import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InvalidAnswer, ModelNotServed, ModelUnavailable } from '../../src/inference/policy-client.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { Superseded } from '../../src/store/errors.ts';
import type { Damage } from '../../src/store/errors.ts';
import type { CommittedEpoch, Sampling } from '../../src/types/activity-types.ts';
import type { FilterRecord, ScoreRecord, SeedTaskRecord, TaskRecord } from '../../src/types/records.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import type { Fault } from '../../test-support/model-server-faults.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { smallFile, someRun } from './some-run.ts';
import type { SomeRun } from './some-run.ts';

async function outputsOf({ dependencies, plan }: SomeRun): Promise<LedgerEntry['outputs']> {
  const lines = await dependencies
    .runFolder(plan.run.id)
    .ledger<LedgerEntry>(plan.run.experiment.sha256)
    .read();
  const last = lines.at(-1);
  if (last === undefined) throw new Error('the ledger is empty');
  return last.outputs;
}

/** The tasks of the first epoch, and what its first shard of rollouts is asked with. */
async function readyToRollOut(run: SomeRun) {
  const epochInput = { run: run.plan.run, epoch: 1, state: run.prepared.state };
  const generated: Sampling[] = [];
  for (let shard = 0; shard < run.plan.settings.shards.generate; shard++)
    generated.push(
      await run.activities.generateTasks({ ...epochInput, shard, shards: run.plan.settings.shards.generate }),
    );
  const tasks = await run.activities.drawTasks({
    ...epochInput,
    generated: generated.map(({ file }) => file),
  });
  run.server.requests.length = 0;
  return { ...epochInput, shard: 0, shards: 1, tasks };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'finished',
    (error: unknown) => error,
  );

/** The folder of the only work that is not finished. */
async function unfinished(run: SomeRun): Promise<string> {
  const folder = join(run.dependencies.store.root, 'work', run.plan.run.id);
  const names = await readdir(folder);
  expect(names).toHaveLength(1);
  return join(folder, names[0]!);
}

describe('a shard that is interrupted', () => {
  const requests = 8;

  it.each([1, 3, requests])(
    'after %i requests asks only the missing ones, each exactly as it was',
    async (done) => {
      const undisturbed = await someRun();
      const expected = await undisturbed.activities.rollOut(await readyToRollOut(undisturbed));
      const run = await someRun();
      const input = await readyToRollOut(run);
      let beats = 0;
      const stopped = run.again({
        heartbeat: () => {
          if (++beats === done) throw new Error('killed');
        },
      });
      expect(await failureOf(stopped.rollOut(input))).toMatchObject({ message: 'killed' });
      const before = run.server.requests.splice(0);
      expect(before).toHaveLength(done);
      expect(await run.again().rollOut(input)).toEqual(expected);
      expect([...before, ...run.server.requests]).toEqual(undisturbed.server.requests);
      expect(run.server.requests).toHaveLength(requests - done);
    },
  );

  it('in the middle of a line asks that request again', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    let beats = 0;
    await failureOf(
      run
        .again({
          heartbeat: () => {
            if (++beats === 2) throw new Error('killed');
          },
        })
        .rollOut(input),
    );
    await appendFile(join(await unfinished(run), 'requests.jsonl'), '0123456789abcdef [{"prompt":0,"te');
    run.server.requests.length = 0;
    expect((await run.again().rollOut(input)).requests).toBe(requests);
    expect(run.server.requests).toHaveLength(requests - 2);
  });

  it('by a newer attempt writes nothing more', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    let claimed: Promise<unknown> | undefined;
    const old = run.again({
      heartbeat: () => {
        claimed ??= run.again().rollOut(input);
      },
    });
    expect(await failureOf(old.rollOut(input))).toBeInstanceOf(Superseded);
    await claimed;
    expect(await run.again().rollOut(input)).toEqual(await claimed);
  });

  it('by a newer attempt that has finished takes its result, and leaves no folder behind', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    let announce = (): void => undefined;
    const newer = new Promise<void>((resolve) => (announce = resolve));
    // The old attempt is asked for an answer, and gets it when the newer one is done.
    const old = createActivities({
      ...run.dependencies,
      policyClient: () => ({
        complete: async () => {
          await newer;
          return [];
        },
        tokenize: () => Promise.resolve([]),
        contextLength: () => Promise.resolve(null),
        promptLength: () => Promise.resolve(0),
      }),
    }).rollOut(input);
    await expect
      .poll(() => readdir(join(run.dependencies.store.root, 'work', run.plan.run.id)).catch(() => []))
      .toHaveLength(1);
    await expect.poll(async () => readdir(join(await unfinished(run), 'fence'))).toEqual(['1']);
    const finished = await run.again().rollOut(input);
    announce();
    expect(await old).toEqual(finished);
    expect(await readdir(join(run.dependencies.store.root, 'work', run.plan.run.id))).toEqual([]);
  });

  it('by a cancellation ends with its reason, and continues later', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    const controller = new AbortController();
    const reason = new Error('cancelled');
    expect(
      await failureOf(
        run.again({ signal: controller.signal, heartbeat: () => controller.abort(reason) }).rollOut(input),
      ),
    ).toBe(reason);
    run.server.requests.length = 0;
    await run.again().rollOut(input);
    expect(run.server.requests).toHaveLength(requests - 1);
  });

  const failures: [Fault, new (...args: never[]) => Error][] = [
    ['server error', ModelUnavailable],
    ['wrong model', InvalidAnswer],
    ['cut stream', ModelUnavailable],
    ['oversized answer', InvalidAnswer],
  ];
  it.each(failures)('by %j keeps what it has, and no bad answer', async (fault, type) => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    run.server.nextFaults.push(undefined, fault);
    expect(await failureOf(run.activities.rollOut(input))).toBeInstanceOf(type);
    expect(run.server.requests).toHaveLength(2);
    await run.activities.rollOut(input);
    expect(run.server.requests).toHaveLength(requests + 1);
    expect(run.server.requests[2]).toEqual(run.server.requests[1]);
  });

  it('again and again counts every failed request, and gives what an undisturbed one gives', async () => {
    const undisturbed = await someRun();
    const expected = await undisturbed.activities.rollOut(await readyToRollOut(undisturbed));
    expect(expected.retried).toBe(0);
    const run = await someRun();
    const input = await readyToRollOut(run);
    run.server.nextFaults.push('server error');
    await failureOf(run.activities.rollOut(input));
    run.server.nextFaults.push(undefined, 'wrong model');
    await failureOf(run.again().rollOut(input));
    expect(
      (await readFile(join(await unfinished(run), 'failed-requests.jsonl'), 'utf8'))
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line.slice(65)) as unknown),
    ).toEqual([
      { request: 0, error: 'ModelUnavailable' },
      { request: 1, error: 'InvalidAnswer' },
    ]);
    expect(await run.again().rollOut(input)).toEqual({ ...expected, retried: 2 });
  });

  it('by a server that has forgotten the model publishes it again, and asks again', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    const served = join(run.dependencies.store.root, 'served', `${input.state.agent.name}.json`);
    const before = await readFile(served, 'utf8');
    await rm(served);
    run.server.nextFaults.push(undefined, 'model not loaded');
    expect(await run.activities.rollOut(input)).toMatchObject({ requests, retried: 1 });
    expect(await readFile(served, 'utf8')).toBe(before);
    expect(run.server.requests[2]).toEqual(run.server.requests[1]);
  });

  it('by a server that continues not knowing the model leaves it to the next attempt', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    run.server.nextFaults.push('model not loaded', 'model not loaded');
    expect(await failureOf(run.activities.rollOut(input))).toBeInstanceOf(ModelNotServed);
    expect(run.server.requests).toHaveLength(2);
    expect(await run.activities.rollOut(input)).toMatchObject({ retried: 2 });
  });

  it('by a worker that stops is no failed request', async () => {
    const run = await someRun();
    const input = await readyToRollOut(run);
    const controller = new AbortController();
    run.server.nextFaults.push('stall');
    const failure = failureOf(run.again({ signal: controller.signal }).rollOut(input));
    await expect.poll(() => run.server.requests).toHaveLength(1);
    controller.abort(new Error('the worker stops'));
    expect(await failure).toMatchObject({ message: 'the worker stops' });
    expect(await run.again().rollOut(input)).toMatchObject({ retried: 0 });
  });
});

describe('what the simulator writes badly', () => {
  const texts = [
    '',
    'hello',
    'T:',
    'Q:abc',
    'T:xyz',
    `T:${'a'.repeat(9)}`,
    'T:ab'.repeat(20),
    '\ud83d',
    'T:ａｂ',
  ];
  const reasons = new Set([
    'empty',
    'unparsable',
    'no_argument',
    'unknown_tool',
    'unknown_symbol',
    'too_long',
    'cut_off',
  ]);

  it('is stored with its reason and counted, and enters neither rollouts nor pools', async () => {
    const run = await someRun({}, { invalid: { share: 0.6, texts } });
    const { metrics, state } = await run.epochs(1);
    const outputs = await outputsOf(run);
    const tasks = await run.records<TaskRecord>(outputs.tasks);
    const bad = tasks.filter(({ valid }) => !valid);
    expect(bad.length).toBeGreaterThan(4);
    for (const { spec, sampled, invalid_reason } of bad) {
      expect(spec).toBeNull();
      expect(sampled?.text).toBeTypeOf('string');
      expect(reasons).toContain(invalid_reason);
    }
    for (const reason of new Set(bad.map(({ invalid_reason }) => invalid_reason)))
      expect(metrics[`env/invalid/${reason}`]).toBe(
        bad.filter(({ invalid_reason }) => invalid_reason === reason).length,
      );
    expect(metrics['env/valid_fraction']).toBeCloseTo(1 - bad.length / 16, 12);
    const ids = new Set(bad.map(({ id }) => id));
    for (const pool of [state.train_pool, state.environment_pool])
      for (const { id } of await run.records<SeedTaskRecord>(pool)) expect(ids).not.toContain(id);
    const scores = await run.records<ScoreRecord>(outputs.scores);
    expect(
      scores
        .filter(({ task_id }) => ids.has(task_id))
        .every(
          ({ attempts, success_rate, env_reward }) =>
            attempts === 0 && success_rate === null && env_reward === null,
        ),
    ).toBe(true);
    expect(
      (await run.records<FilterRecord>(outputs.decisions))
        .filter(({ task_id }) => ids.has(task_id))
        .every(
          ({ kept_for_agent, kept_for_environment, reason }) =>
            !kept_for_agent && !kept_for_environment && reason === 'invalid',
        ),
    ).toBe(true);
  });

  it('in a whole epoch: nothing is rolled out or learnt, which is noted, and the next epoch continues', async () => {
    const run = await someRun({}, { invalid: { share: 1, texts } });
    const { agent, environment } = run.prepared.state;
    const first = await run.epochs(1);
    expect(first.metrics).toMatchObject({
      'env/valid_fraction': 0,
      'env/success_rate': null,
      'rollouts/count': 0,
      steps: 0,
      'env/steps': 0,
    });
    expect(await notesOf(run)).toEqual([
      'agent: no update (empty_batch)',
      'environment: no update (empty_batch)',
    ]);
    expect([first.state.agent.checkpoint, first.state.environment.checkpoint]).toEqual([
      agent.checkpoint,
      environment.checkpoint,
    ]);
    expect((await run.epochs(2, first)).epoch).toBe(2);
  });

  it('twice is counted, rolled out, and in D_train once', async () => {
    const run = await someRun({}, { task: () => 'T:abc', success: () => 0.5 });
    const second = await run.epochs(2);
    const tasks = await run.records<TaskRecord>((await outputsOf(run)).tasks);
    expect(tasks.map(({ repeats }) => repeats)).toEqual(Array.from({ length: 16 }, (_, index) => index));
    expect(second.metrics['env/distinct_fraction']).toBeCloseTo(1 / 16, 12);
    expect(second.metrics['env/duplicates']).toBe(15);
    expect((await run.records<SeedTaskRecord>(second.state.train_pool)).map(({ spec }) => spec)).toEqual([
      'T:abc',
    ]);
    // Thirty-two records of one task in two epochs weigh as much as the newest of them.
    expect(
      run.trainer.jobs.findLast(({ job }) => job.kind === 'rwr')?.records.filter(({ step }) => step === 0),
    ).toHaveLength(1);
  });
});

async function notesOf({ dependencies, plan }: SomeRun): Promise<string[]> {
  const lines = await dependencies
    .runFolder(plan.run.id)
    .ledger<LedgerEntry>(plan.run.experiment.sha256)
    .read();
  return lines.at(-1)?.notes ?? [];
}

describe('success that says nothing', () => {
  it.each([0, 1])(
    'of %i throughout: no signal, no update of either policy, and that is noted',
    async (rate) => {
      const run = await someRun({}, { success: () => rate });
      const { agent } = run.prepared.state;
      const second: CommittedEpoch = await run.epochs(2);
      expect(second.metrics).toMatchObject({
        'env/success_rate': rate,
        'env/effective_group_ratio': 0,
        frac_reward_zero_std: 1,
        steps: 0,
      });
      expect(second.state.agent.checkpoint).toEqual(agent.checkpoint);
      expect(await notesOf(run)).toContain('agent: no update (empty_batch)');
      // All of its tasks earned the same: the simulator has nothing to learn either.
      expect(second.metrics['env/steps']).toBe(0);
      expect(await notesOf(run)).toContain(
        'environment: no update (the rewards of its records span less than guards.flatRewards, 0.05)',
      );
    },
  );

  it('kept in the batch: the trainer skips it for want of informative groups', async () => {
    const run = await someRun({ 'agent.training.dropZeroVariance': false }, { success: () => 1 });
    await run.epochs(1);
    expect(await notesOf(run)).toContain('agent: no update (too_few_informative_groups)');
  });

  it('filtered away: both updates are skipped and noted, epoch after epoch', async () => {
    const run = await someRun(
      { filter: { type: 'threshold', kMin: 0.1, appliesTo: ['agent', 'environment'] } },
      { success: () => 0 },
    );
    const third = await run.epochs(3);
    expect(third.metrics).toMatchObject({
      'env/filtered/too_hard': 16,
      steps: 0,
      'env/steps': 0,
      'pool/env_size': 0,
    });
    expect(await notesOf(run)).toEqual([
      'agent: no update (empty_batch)',
      'environment: no update (empty_batch)',
    ]);
    expect(third.state.environment.checkpoint).toEqual(run.prepared.state.environment.checkpoint);
  });
});

describe('a training job', () => {
  it('that ends without a result is tried again and leaves what an undisturbed one leaves', async () => {
    const undisturbed = await (await someRun()).epochs(1);
    const run = await someRun();
    run.trainer.nextEndings.push({ reason: 'failed', message: 'a cable' });
    expect(await failureOf(run.epochs(1))).toMatchObject({ name: 'TrainerFailed' });
    expect((await run.epochs(1)).line).toBe(undisturbed.line);
  });

  it.each(['checkpoint/weights.txt', 'trainer-state/state.txt'])(
    'whose output has a bit flipped (%s) is not taken, and done again',
    async (file) => {
      const undisturbed = await (await someRun()).epochs(1);
      const run = await someRun();
      const damages: Damage[] = [];
      const activities = createActivities({
        ...run.dependencies,
        onDamage: (damage) => damages.push(damage),
      });
      run.trainer.afterResult = async (folder) => {
        delete run.trainer.afterResult;
        const path = join(folder, 'output', file);
        const data = await readFile(path);
        data[0]! ^= 1;
        await writeFile(path, data);
      };
      expect(await failureOf(plainEpoch(activities, run.plan, run.prepared))).toMatchObject({
        name: 'TrainerFailed',
        message: expect.stringContaining('damaged after the trainer wrote it') as string,
      });
      expect(damages).toEqual([
        {
          file: expect.stringMatching(/train-agent-[0-9a-f]+\/output$/) as string,
          problem: expect.stringContaining('altered or torn') as string,
        },
      ]);
      expect((await run.epochs(1)).line).toBe(undisturbed.line);
    },
  );

  it('is not done again when its worker dies after it', async () => {
    const run = await someRun();
    const keys = run.dependencies.keys;
    const record = keys.record.bind(keys);
    keys.record = (key, value) =>
      key.phase === 'train-agent' ? Promise.reject(new Error('killed')) : record(key, value);
    expect(await failureOf(run.epochs(1))).toMatchObject({ message: 'killed' });
    keys.record = record;
    const jobs = run.trainer.jobs.length;
    await run.epochs(1);
    expect(run.trainer.jobs.slice(jobs).map(({ job }) => job.kind)).toEqual(['rwr']);
  });
});

describe('a warm-up', () => {
  it('that two runs of a worker need at once is done once, and neither stops the other', async () => {
    const run = await someRun();
    const before = run.trainer.jobs.length;
    const file = (epochs: number) => ({ ...smallFile, seed: 8, epochs });
    const [first, second] = await Promise.all([
      begin(run.activities, 'one', file(1)),
      begin(run.activities, 'two', file(2)),
    ]);
    expect(first.prepared.state.agent).toEqual(second.prepared.state.agent);
    expect(first.prepared.state.environment).toEqual(second.prepared.state.environment);
    expect(run.trainer.jobs.slice(before).map(({ job }) => `${job.kind}, claim ${job.fence}`)).toEqual([
      'supervised, claim 1',
      'supervised, claim 1',
    ]);
  });
});

describe('parseExperiment', () => {
  it('takes the same file as the same run, and refuses another under the same id, writing nothing', async () => {
    const run = await someRun();
    const file = await run.dependencies.store.json(run.plan.run.experiment);
    expect(await run.activities.parseExperiment({ id: 'some-run', file })).toEqual(run.plan);
    const changed = { ...(file as object), seed: 99 };
    const events = await run.dependencies.runFolder('some-run').events();
    expect(await failureOf(run.activities.parseExperiment({ id: 'some-run', file: changed }))).toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringContaining('seed: was 0, is 99') as string,
    });
    expect(await run.dependencies.runFolder('some-run').events()).toEqual(events);
  });

  it('refuses a bad id or file, and writes nothing', async () => {
    const home = await temporaryFolder();
    const activities = createActivities(plainDependencies(home, 'http://127.0.0.1:1/v1', new FakeTrainer()));
    for (const id of ['', '.hidden', 'a/b', '../up', '_warm-up', 'x'.repeat(81), 'ä']) {
      expect(await failureOf(activities.parseExperiment({ id, file: smallFile }))).toMatchObject({
        name: 'InvalidConfig',
        message: expect.stringContaining(`workflow id: got ${JSON.stringify(id)}`) as string,
      });
    }
    for (const file of [null, undefined, 7, { ...smallFile, seed: -1 }]) {
      expect(await failureOf(activities.parseExperiment({ id: 'fine', file }))).toMatchObject({
        name: 'InvalidConfig',
        message: expect.stringMatching(/^experiment: /) as string,
      });
    }
    expect(await readdir(home)).toEqual([]);
  });
});
