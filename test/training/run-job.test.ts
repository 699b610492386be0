import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { openSync, writeFileSync } from 'node:fs';
import { appendFile, link as linkFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { identify } from '../../src/runtime/process-identity.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import { JobFolder, seal } from '../../src/training/job-folder.ts';
import { TrainerFailed } from '../../src/training/watch-job.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { failureOf, python, trial } from './job-trial.ts';
import type { Trial } from './job-trial.ts';

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const started = (job: Trial, times = 1) =>
  expect.poll(() => job.starts(), { timeout: 10_000 }).toHaveLength(times);

describe('a training job', { timeout: 30_000 }, () => {
  it('runs to its result, and reports its progress', async () => {
    const job = await trial({ waits_for: 'go' });
    const running = job.run();
    await expect
      .poll(() => job.progress.at(-1), { timeout: 10_000 })
      .toMatchObject({ phase: 'step', step: 1 });
    await job.write('go', '');
    expect(await running).toMatchObject({
      result: { steps_done: 3, metrics: { loss: 0.5 } },
      tokensPerMicroBatch: 4096,
    });
    expect(await job.starts()).toEqual([{ fence: 1, budget: 4096 }]);
    expect(await job.file('lease')).toBe('');
  });

  it('that is done is not run again', async () => {
    const job = await trial();
    const result = await job.run();
    expect(await job.run()).toEqual(result);
    expect(await job.starts()).toHaveLength(1);
  });

  it('of other inputs in the same folder is no result of this one', async () => {
    const job = await trial({ ends: 'invalid_config', message: 'result.json: another input_hash' });
    await job.write(
      'result.json',
      seal({
        format: 1,
        input_hash: 'b'.repeat(64),
        steps: 0,
        steps_done: 0,
        skipped: null,
        skipped_steps: {},
        kl: { before: null, after: null, rule: 'none' },
        metrics: {},
        output: { checkpoint: 'b', trainer_state: 'c' },
      }),
    );
    expect(await failureOf(job.run())).toBeInstanceOf(InvalidConfig);
  });

  it('that still runs is attached to', async () => {
    const job = await trial({ waits_for: 'go' });
    const controller = new AbortController();
    const first = failureOf(job.run({ signal: controller.signal, detach: () => true }));
    await started(job);
    controller.abort(new Error('the worker stops'));
    expect(await first).toMatchObject({ message: 'the worker stops' });
    job.progress.length = 0;
    const second = job.run();
    await expect
      .poll(() => job.progress.at(-1), { timeout: 10_000 })
      .toMatchObject({ phase: 'step', step: 1 });
    await job.write('go', '');
    expect(await second).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
  });

  it('that is asked to stop checkpoints first, and continues under a new claim', async () => {
    const job = await trial({ waits_for: 'go' });
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const first = failureOf(job.run({ signal: controller.signal }));
    await started(job);
    controller.abort(reason);
    expect(await first).toBe(reason);
    expect(JSON.parse((await job.file('exit.json')) ?? '{}')).toMatchObject({ reason: 'terminated' });
    await job.write('go', '');
    expect(await job.run()).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('is not taken for ended by what one under an earlier claim writes', async () => {
    const job = await trial({ waits_for: 'go' });
    const controller = new AbortController();
    const first = failureOf(job.run({ signal: controller.signal }));
    await started(job);
    controller.abort(new Error('cancelled'));
    await first;
    const second = job.run();
    await started(job, 2);
    const late = { fence: 1, reason: 'superseded', message: 'claim 2 is higher' };
    await job.write('exit.json', seal(late));
    // Several polls of the worker.
    await sleep(1_500);
    await job.write('go', '');
    expect(await second).toMatchObject({ result: { steps_done: 3 } });
  });

  it('out of memory continues with half the tokens, once for each time, however long its process takes to go', async () => {
    const job = await trial({ fits: 1100, linger: 0.4 });
    expect(await job.run()).toMatchObject({ result: { steps_done: 3 }, tokensPerMicroBatch: 1024 });
    expect((await job.run()).tokensPerMicroBatch).toBe(1024);
    expect((await job.starts()).map(({ budget }) => budget)).toEqual([4096, 2048, 1024]);
  });

  it('out of memory in whatever size fails, and says what to do', async () => {
    const job = await trial({ fits: 10 });
    const failure = await failureOf(job.run());
    expect(failure).toBeInstanceOf(TrainerFailed);
    expect((failure as Error).message).toMatch(
      /out of memory even with 256 tokens a micro-batch; use a smaller model/,
    );
    expect((await job.starts()).map(({ budget }) => budget)).toEqual([4096, 2048, 1024, 512, 256]);
  });

  it('that dies without a word fails, and the next attempt starts it again', async () => {
    const job = await trial({ dies: true });
    const failure = await failureOf(job.run());
    expect(failure).toBeInstanceOf(TrainerFailed);
    expect((failure as Error).message).toMatch(/died without a word/);
    await job.write('script.json', '{}');
    expect(await job.run()).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('that makes no progress is killed', async () => {
    const job = await trial({ sleeps: 60 });
    const failure = await failureOf(job.run({ stallMs: 3_000 }));
    expect(failure).toBeInstanceOf(TrainerFailed);
    expect((failure as Error).message).toMatch(
      /made no progress for 3\d{3} ms, used no processor for 3\d{3} ms and was killed/,
    );
    const pid = job.progress.at(-1)?.pid ?? 0;
    await expect.poll(() => isThere(pid)).toBe(false);
  });

  it('whose group is stopped is killed, and continues in the next attempt', async () => {
    const job = await trial({ waits_for: 'go' });
    const running = failureOf(job.run({ stallMs: 3_000 }));
    await expect.poll(() => job.progress.at(-1), { timeout: 10_000 }).toMatchObject({ step: 1 });
    const pid = job.progress.at(-1)?.pid ?? 0;
    process.kill(-pid, 'SIGSTOP');
    expect(await running).toMatchObject({
      name: 'TrainerFailed',
      message: expect.stringMatching(/made no progress for 3\d{3} ms/) as string,
    });
    await expect.poll(() => isThere(pid)).toBe(false);
    await job.write('go', '');
    expect(await job.run()).toMatchObject({ result: { steps_done: 3 } });
    expect((await job.starts()).map(({ fence }) => fence)).toEqual([1, 2]);
  });

  it('that computes longer than a stall without a word is not killed, and is reported to work', async () => {
    const job = await trial({ computes: 5 });
    const silences: number[] = [];
    const onWork = (msSinceProgress: number): void => void silences.push(msSinceProgress);
    expect(await job.run({ stallMs: 1_500, onWork })).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
    expect(silences.at(-1)).toBeGreaterThan(3_000);
  });

  it('that loads longer than its start may take, before it holds its lock, is not taken for dead', async () => {
    const job = await trial({ computes: 12, before_lock: true });
    expect(await job.run({ stallMs: 1_500 })).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
  });

  it('that sleeps is killed, though a child of it had computed', async () => {
    const job = await trial({ computes: 2, sleeps: 60 });
    expect(await failureOf(job.run({ stallMs: 1_500 }))).toMatchObject({
      name: 'TrainerFailed',
      message: expect.stringMatching(/used no processor for \d+ ms and was killed/) as string,
    });
  });

  it('that waits for its device longer than a stall is not killed', async () => {
    const job = await trial({ waits_for: 'go', says_waiting: true });
    const running = job.run({ stallMs: 1_500 });
    await expect
      .poll(() => job.progress.filter(({ phase }) => phase === 'waiting').length, { timeout: 20_000 })
      .toBeGreaterThan(12);
    await job.write('go', '');
    expect(await running).toMatchObject({ result: { steps_done: 3 } });
    expect(await job.starts()).toHaveLength(1);
  });

  it.each(['result.json', 'exit.json', 'job.json'])(
    'whose %s is torn, or has a bit flipped, is done again, and that is said',
    async (name) => {
      for (const spoil of [
        (text: string) => text.slice(0, -30),
        (text: string) => text.replace(/[1-9]/, '0'),
      ]) {
        const job = await trial();
        const expected = await job.run();
        if (name !== 'result.json') await rm(join(job.work.path, 'result.json'));
        await job.write(name, spoil((await job.file(name))!));
        expect(await job.run()).toEqual(expected);
        expect(await job.starts()).toHaveLength(2);
        expect(job.damages).toEqual([
          { file: join(job.work.path, name), problem: 'it is torn or altered, and taken for none' },
        ]);
      }
    },
  );

  it.each([1, 0, -1, -4242])('whose progress says the number %i is not believed', async (pid) => {
    const job = await trial({ sleeps: 60, claims: { pid } });
    const failure = await failureOf(job.run({ stallMs: 3_000 }));
    expect(failure).toBeInstanceOf(TrainerFailed);
    expect(job.progress).toEqual([]);
    expect(job.damages[0]?.problem).toMatch(/line \d is damaged; it is passed over/);
  });

  /** A process of somebody else's, such as a server, and lines of progress that name it. */
  const bystanders: Record<string, (lock: string) => { child: ChildProcess; claims: object }> = {
    'on another host': () => {
      const child = sleeper();
      return { child, claims: { ...identify(child.pid!), host: 'another-host' } };
    },
    'started at another time': () => {
      const child = sleeper();
      const { pid, started } = identify(child.pid!)!;
      return { child, claims: { pid, host: hostname(), started: `${started}1` } };
    },
    'as it is': () => {
      const child = sleeper();
      return { child, claims: { ...identify(child.pid!), host: hostname() } };
    },
    'that has the lock open, and not locked': (lock) => {
      writeFileSync(lock, '');
      const child = sleeper(openSync(lock, 'r+'));
      return { child, claims: { ...identify(child.pid!), host: hostname() } };
    },
  };
  function sleeper(open?: number): ChildProcess {
    const child = spawn('sleep', ['60'], { detached: true, stdio: ['ignore', 'ignore', open ?? 'ignore'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  }

  it.each(Object.keys(bystanders))(
    'whose progress names a process %s is killed itself, if it was launched here',
    async (which) => {
      const job = await trial({ sleeps: 60 });
      const { child, claims } = bystanders[which]!(join(job.work.path, 'lock'));
      await job.write('script.json', JSON.stringify({ sleeps: 60, claims }));
      const failure = await failureOf(job.run({ stallMs: 1_500 }));
      expect((failure as Error).message).toMatch(/was killed/);
      expect(job.pids).toHaveLength(1);
      await expect.poll(() => isThere(job.pids[0]!)).toBe(false);
      const controller = new AbortController();
      const stopped = failureOf(job.run({ signal: controller.signal }));
      await started(job, 2);
      controller.abort(new Error('cancelled'));
      expect(await stopped).toMatchObject({ message: 'cancelled' });
      expect(JSON.parse((await job.file('exit.json')) ?? '{}')).toMatchObject({ reason: 'terminated' });
      expect(child.signalCode).toBe(null);
      expect(isThere(child.pid!)).toBe(true);
    },
  );

  /** Starts the job, and leaves it as a worker does that stops. */
  async function leftAtWork(job: Trial): Promise<void> {
    const controller = new AbortController();
    const running = failureOf(job.run({ signal: controller.signal, detach: () => true }));
    await expect.poll(() => job.progress.at(-1), { timeout: 10_000 }).toMatchObject({ step: 1 });
    controller.abort(new Error('the worker stops'));
    await running;
  }

  it.each(Object.keys(bystanders))(
    'that is attached to, and whose progress names a process %s, is not signalled, nor is that process',
    async (which) => {
      const job = await trial({ sleeps: 60 });
      const { child, claims } = bystanders[which]!(join(job.work.path, 'lock'));
      await job.write('script.json', JSON.stringify({ sleeps: 60, claims }));
      await leftAtWork(job);
      const failure = await failureOf(job.run({ stallMs: 1_500 }));
      expect((failure as Error).message).toMatch(/could not be ended from this host/);
      const controller = new AbortController();
      const stopped = failureOf(job.run({ signal: controller.signal }));
      controller.abort(new Error('cancelled'));
      expect(await stopped).toMatchObject({ message: 'cancelled' });
      expect(isThere(child.pid!)).toBe(true);
      expect(isThere(job.pids[0]!)).toBe(true);
    },
  );

  it('whose lock is that of another job does not name that one', async () => {
    const [victim, job] = [await trial({ sleeps: 60 }), await trial({ sleeps: 60 })];
    await leftAtWork(victim);
    await linkFile(join(victim.work.path, 'lock'), join(job.work.path, 'lock'));
    for (const name of ['job.json', 'progress.jsonl']) await job.write(name, (await victim.file(name))!);
    const failure = await failureOf(job.run({ stallMs: 1_500 }));
    expect((failure as Error).message).toMatch(/could not be ended from this host/);
    expect(isThere(victim.pids[0]!)).toBe(true);
  });

  it('that is attached to is killed if it makes no progress', async () => {
    const job = await trial({ sleeps: 60 });
    await leftAtWork(job);
    const failure = await failureOf(job.run({ stallMs: 1_500 }));
    expect((failure as Error).message).toMatch(/was killed/);
    await expect.poll(() => isThere(job.pids[0]!)).toBe(false);
  });

  it('that is attached to is told to stop', async () => {
    const job = await trial({ waits_for: 'go' });
    await leftAtWork(job);
    const controller = new AbortController();
    const stopped = failureOf(job.run({ signal: controller.signal }));
    controller.abort(new Error('cancelled'));
    expect(await stopped).toMatchObject({ message: 'cancelled' });
    expect(JSON.parse((await job.file('exit.json')) ?? '{}')).toMatchObject({ reason: 'terminated' });
  });

  it('of an older trainer, whose lines name no host, is killed as the process that was launched', async () => {
    const job = await trial({ sleeps: 60, claims: { host: null, started: null } });
    const failure = await failureOf(job.run({ stallMs: 3_000 }));
    expect((failure as Error).message).toMatch(/was killed/);
  });

  it('is looked at by what is new of its progress, however long that has become', async () => {
    const job = await trial();
    const folder = new JobFolder(job.work.path, python, (damage) => job.damages.push(damage));
    const line = (step: number, rest = '') =>
      `${JSON.stringify({ phase: 'step', step, steps: 9, pid: 7, host: 'a', started: 'b' })}${rest}\n`;
    expect([await folder.progressLines(), await folder.progress()]).toEqual([0, undefined]);
    await job.write('progress.jsonl', line(1) + line(2).slice(0, 20));
    expect(await folder.progress()).toMatchObject({ lines: 1, last: { step: 1 } });
    await job.write('progress.jsonl', line(1) + line(2) + line(3, 'x'));
    expect(await folder.progress()).toMatchObject({ lines: 2, last: { step: 2 } });
    expect(job.damages.map(({ problem }) => problem)).toEqual(['line 3 is damaged; it is passed over']);
    const read = vi.spyOn(Buffer, 'alloc');
    await appendFile(join(job.work.path, 'progress.jsonl'), line(4));
    expect(await folder.progress()).toMatchObject({ lines: 4, last: { step: 4 } });
    expect(read.mock.calls).toEqual([[line(4).length]]);
    read.mockRestore();
    // Written anew.
    await job.write('progress.jsonl', line(5));
    expect(await folder.progress()).toMatchObject({ lines: 1, last: { step: 5 } });
  });

  it('passes over damaged lines of progress', async () => {
    const job = await trial({ waits_for: 'go' });
    const running = job.run();
    await expect.poll(() => job.progress.at(-1), { timeout: 10_000 }).toMatchObject({ step: 1 });
    await appendFile(join(job.work.path, 'progress.jsonl'), '{"phase":"st{"phase":\n');
    await expect
      .poll(() => job.damages, { timeout: 10_000 })
      .toEqual([
        { file: join(job.work.path, 'progress.jsonl'), problem: 'line 3 is damaged; it is passed over' },
      ]);
    await job.write('go', '');
    expect(await running).toMatchObject({ result: { steps_done: 3 } });
  });

  it.each([
    ['invalid_config', InvalidConfig, /^trainer: learning_rate: got -1$/],
    ['invalid_artifact', InvalidArtifact, /learning_rate: got -1/],
    ['failed', TrainerFailed, /ended \(failed\): learning_rate: got -1/],
    ['terminated', TrainerFailed, /ended \(terminated\)/],
    ['finished', TrainerFailed, /ended \(finished\)/],
  ] as const)('that ends with %s fails as that', async (ends, type, message) => {
    const job = await trial({ ends, message: 'learning_rate: got -1' });
    const failure = await failureOf(job.run());
    expect(failure).toBeInstanceOf(type);
    expect((failure as Error).message).toMatch(message);
  });
});
