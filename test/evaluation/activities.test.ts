/* eslint-disable id-denylist -- names of fields on disk */
import { describe, expect, it } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { planShards } from '../../src/activities/evaluation/plan-evaluation.ts';
import { collectGarbage } from '../../src/runs/garbage-collection.ts';
import type { AnswerRecord, CaseLine } from '../../src/types/evaluation-types.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { someEvaluation, summing } from './some-evaluation.ts';

const judge = (baseUrl: string) => ({ judge: { baseUrl, model: 'judge' } });

describe('an evaluation', () => {
  it('puts every case to the policy, and ends in figures with their intervals', async () => {
    const { run, results, server, dependencies } = await someEvaluation();
    const { scores, skipped } = await run();
    // 19 of 23: sums 4, 9, 14 and 19 are wrong.
    expect(scores.map((score) => [score.name, score.successes, score.of])).toEqual([
      ['sums_all', null, 1],
      ['sums_exact', 19, 23],
      ['sums_near', null, 23],
    ]);
    expect(scores[1]).toMatchObject({
      value: 19 / 23,
      interval: { low: expect.closeTo(0.629, 3) as number, high: expect.closeTo(0.9302, 3) as number },
    });
    expect(scores[2]!.interval!.low).toBeGreaterThan(0.7);
    expect(skipped).toEqual([]);
    const { suites, policy, judged } = await results();
    expect(policy).toMatchObject({ type: 'served', model: 'any' });
    expect(judged).toBe(1);
    expect(suites).toMatchObject([
      {
        name: 'sums',
        whole: true,
        correct: 19,
        cases: 23,
        versions: { rules: '1' },
        cutOff: 0,
        tooLong: 0,
        questions: server.chats.length,
      },
    ]);
    // What was asked is kept too: the first question of each case whole, the others by their hash.
    const records = await collect(
      dependencies.store.records<AnswerRecord>((await results()).shards[0]!.answered.answers),
    );
    expect(records[3]).toMatchObject({
      id: 'sum-3',
      question: { messages: [{ role: 'user', content: '3 + 6?' }] },
      response: { answers: ['9', '9'] },
    });
    expect((await results()).suites).toMatchObject([
      { prompts: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    ]);
    expect(new Set(server.chats.map(({ seed }) => seed)).size).toBe(server.chats.length);
    expect(
      server.chats.every(({ temperature, max_tokens }) => temperature === 0 && max_tokens === 1024),
    ).toBe(true);
  });

  it('writes a line for each case: what was asked and answered, the key, the verdict and why', async () => {
    const { rules, run, bytes } = await someEvaluation();
    const lines = async (): Promise<CaseLine[]> =>
      (await bytes())[1]!
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as CaseLine);
    await run();
    expect((await lines())[4]).toEqual({
      suite: 'sums',
      id: 'sum-4',
      correct: false,
      scores: { exact: 0, near: 1 / 3 },
      reason: 'wrong_sum',
      question: 'user: 4 + 8?',
      answer: '{"answers":["14"],"judged":null,"looked":null}',
      gold: '{"answers":["12"],"looked":null,"judged":null}',
    });
    expect((await lines())[0]).not.toHaveProperty('gold');
    // As BFCL says it, of an answer and of the turns of a case.
    for (const [version, detail, expected] of [
      ['2', { converted: true }, true],
      ['3', [{ converted: false }, { converted: true }], true],
      ['4', [{ converted: false }], undefined],
    ] as const) {
      Object.assign(rules, { version, detail });
      await run();
      expect((await lines()).map(({ converted }) => converted)).toEqual(Array(23).fill(expected));
    }
    await run({ policy: { type: 'gold' } }, 'key');
    expect((await bytes('key'))[1]).not.toContain('"question"');
  });

  it('that is killed in the middle asks only what is missing, and ends with the same bytes', async () => {
    const gone = { after: Infinity };
    const undisturbed = await someEvaluation({
      chat: (messages) => (gone.after-- <= 0 ? 503 : summing(messages)),
    });
    const { server } = undisturbed;
    await undisturbed.run(judge(server.url));
    const questions = server.chats.length;
    const disturbed = await someEvaluation({ server });
    gone.after = 9;
    await expect(disturbed.run(judge(server.url))).rejects.toThrow('503');
    expect(disturbed.rules.searches).toBeGreaterThan(0);
    gone.after = 17;
    await expect(disturbed.run(judge(server.url))).rejects.toThrow('503');
    gone.after = Infinity;
    await disturbed.run(judge(server.url));
    expect(await disturbed.bytes()).toEqual(await undisturbed.bytes());
    expect(disturbed.rules.searches).toBe(undisturbed.rules.searches);
    // Asked again: at most the two batches that failed, and what failed in them.
    expect(server.chats.length - questions).toBeLessThanOrEqual(questions + 2 * 4);
  });

  it('that resumes with other rules of judging asks nothing twice; with other questions it asks all', async () => {
    const gone = { after: 19 };
    const { run, rules, server, results } = await someEvaluation({
      chat: (messages) => (gone.after-- <= 0 ? 503 : summing(messages)),
    });
    await expect(run()).rejects.toThrow('503');
    gone.after = Infinity;
    const failed = server.chats.length - 19;
    Object.assign(rules, { tolerance: 2, version: '2' });
    expect((await run()).scores[1]).toMatchObject({ name: 'sums_exact', value: 1 });
    expect([server.chats.length - failed, (await results()).suites]).toMatchObject([
      23 + 11,
      [{ asking: '1', versions: { rules: '2' } }],
    ]);
    rules.asking = '2';
    await run();
    expect(server.chats.length - failed).toBe(2 * (23 + 11));
  });

  it('that is done is not done again', async () => {
    const { run, server, bytes } = await someEvaluation();
    await run();
    const [questions, before] = [server.chats.length, await bytes()];
    await run({ concurrency: 1, requestTimeoutSeconds: 7 });
    expect(server.chats.length).toBe(questions);
    expect((await bytes())[1]).toBe(before[1]);
  });

  it('of completions asks many at a time, in ChatML, each with its own seed', async () => {
    const { run, server } = await someEvaluation();
    const { scores } = await run({
      policy: { type: 'served', baseUrl: server.url, model: 'any', api: 'completions' },
    });
    expect(scores[1]).toMatchObject({ name: 'sums_exact', successes: 19, of: 23 });
    expect(server.chats).toEqual([]);
    // 23 cases, and again those whose sum was odd.
    expect(server.requests).toHaveLength(23 + 11);
    expect(server.requests.map(({ prompt }) => prompt)).toContainEqual([
      '<|im_start|>user\n1 + 2?<|im_end|>\n<|im_start|>assistant\n',
    ]);
    expect(new Set(server.requests.map(({ seed }) => seed)).size).toBe(34);
  });

  it('counts questions that the policy cannot read as wrong, and says so', async () => {
    const { run, results } = await someEvaluation({
      chat: (messages) => (messages[0]!.content.startsWith('3 +') ? 400 : summing(messages)),
    });
    await run();
    expect((await results()).suites).toMatchObject([{ correct: 19 - 1, tooLong: 1 }]);
  });

  it('of the answer key leaves out what has none, and its figures say so', async () => {
    const { run, server, rules } = await someEvaluation();
    const { scores } = await run({ policy: { type: 'gold' } });
    expect(scores).toMatchObject([
      { name: 'sums_exact_keyed', value: 1, of: 22, note: '22 of 23 cases' },
      { name: 'sums_near_keyed', value: 1 },
    ]);
    expect([server.chats.length, rules.searches]).toEqual([0, 0]);
  });

  it('of a part of the cases has no name of the whole', async () => {
    const { run } = await someEvaluation();
    const { scores } = await run({ limit: 6 });
    expect(scores.map((score) => [score.name, score.of, score.note])).toEqual([
      ['sums_exact_first6', 6, '6 of 23 cases'],
      ['sums_near_first6', 6, '6 of 23 cases'],
    ]);
  });

  it('skips a suite that is not here, with the reason, and never as zero', async () => {
    const { run, rules, server, results } = await someEvaluation();
    rules.missing = 'download the sums';
    expect(await run()).toMatchObject({
      scores: [],
      skipped: [{ name: 'sums', reason: 'download the sums' }],
    });
    expect((await results()).suites).toEqual([{ name: 'sums', skipped: 'download the sums' }]);
    expect(server.chats).toEqual([]);
    // Once it is here, the same command evaluates it.
    rules.missing = null;
    expect((await run()).scores[1]).toMatchObject({ name: 'sums_exact', of: 23 });
  });

  it('skips what a * stands for and the settings do not fit, with the reason', async () => {
    const { run } = await someEvaluation();
    const { scores, skipped } = await run({ suites: ['sums*'] });
    expect(skipped).toEqual([
      { name: 'sums_search', reason: 'search: missing; sums_search needs an endpoint' },
    ]);
    expect(scores[1]).toMatchObject({ name: 'sums_exact', of: 23 });
  });

  it.each([
    [{ suites: ['sum'] }, 'suites: got "sum"; did you mean "sums"?'],
    [{ suites: ['bfcl'] }, 'suites: got "bfcl"; expected names of suites'],
    [{ suites: ['sums*', 'sums_search'] }, 'search: missing; sums_search needs an endpoint'],
    [{ temperature: -1 }, 'evaluation: temperature: got -1'],
    [{ policy: { type: 'run', run: 'nobody' } }, 'policy.run: got "nobody"; there is no such run'],
    [
      {
        policy: { type: 'served', baseUrl: 'http://x/v1', model: 'm', api: 'completions' },
        toolFormat: 'native',
      },
      'toolFormat: got "native"; completions take no tools',
    ],
  ])('is refused with %j: %s', async (fields, message) => {
    const { run, dependencies, server } = await someEvaluation();
    const failed = run(fields);
    await expect(failed).rejects.toThrow(InvalidConfig);
    await expect(failed).rejects.toThrow(message);
    expect(await dependencies.evaluationFolder('some').read()).toBeUndefined();
    expect(server.chats).toEqual([]);
  });

  it('belongs to its file, and to data and rules that all workers share', async () => {
    const { run, rules } = await someEvaluation();
    await run();
    await expect(run({ seed: 3 })).rejects.toThrow('belongs to another evaluation file (seed: was 0, is 3)');
    const changing = await someEvaluation();
    let heartbeats = 0;
    // The rules change between the plan and the first shard.
    await expect(
      changing.run({}, 'some', {
        heartbeat: () => {
          if (++heartbeats === 1) changing.rules.version = '2';
        },
      }),
    ).resolves.toBeDefined();
    rules.version = '2';
    await expect(run()).resolves.toMatchObject({ skipped: [] });
  });

  it('stops for its worker’s own reason, and keeps what was answered', async () => {
    const { run, server } = await someEvaluation();
    const stopping = new AbortController();
    const reason = new Error('the worker stops');
    await expect(
      run({}, 'some', {
        signal: stopping.signal,
        heartbeat: (details) => {
          if ((details as { questions?: number }).questions === 10) stopping.abort(reason);
        },
      }),
    ).rejects.toBe(reason);
    expect(server.chats.length).toBe(10);
    await run();
    expect(server.chats.length).toBe(23 + 11);
  });

  it('gives the judge of a suite no more cases at a time than it takes', async () => {
    const { run, rules } = await someEvaluation();
    await run();
    expect(rules.judged).toEqual([4, 4, 2, 4, 4, 2, 3]);
  });
});

describe('scoring again', () => {
  it('judges the same answers by the rules that are here now, and asks nobody', async () => {
    const { run, rescore, rules, server, results } = await someEvaluation();
    await run(judge(server.url));
    const [questions, searches] = [server.chats.length, rules.searches];
    Object.assign(rules, { tolerance: 2, version: '2' });
    expect((await rescore()).scores[1]).toMatchObject({ name: 'sums_exact', value: 1 });
    expect([server.chats.length, rules.searches]).toEqual([questions, searches]);
    expect(await results()).toMatchObject({
      judged: 2,
      suites: [{ versions: { rules: '2' }, questions: expect.any(Number) as number }],
    });
    Object.assign(rules, { tolerance: 0, version: '1' });
    expect((await rescore()).scores[1]).toMatchObject({ successes: 19 });
  });

  it('needs nothing that only asking does, without which a suite is skipped, and no shard answered', async () => {
    const { run, rescore, rules, server } = await someEvaluation();
    await run();
    const questions = server.chats.length;
    Object.assign(rules, { cannotAsk: 'set THE_KEY', tolerance: 2, version: '2' });
    expect((await rescore()).scores[1]).toMatchObject({ name: 'sums_exact', value: 1 });
    expect(await run({}, 'another')).toMatchObject({
      scores: [],
      skipped: [{ name: 'sums', reason: 'set THE_KEY' }],
    });
    rules.cannotAsk = undefined;
    await expect(
      run({}, 'third', {
        heartbeat: () => {
          rules.cannotAsk = 'set THE_KEY';
        },
      }),
    ).rejects.toThrow('sums cannot be asked on this worker: set THE_KEY');
    expect(server.chats.length).toBe(questions);
  });

  it('finds what it needs after a garbage collection', async () => {
    const { run, rescore, rules, dependencies } = await someEvaluation();
    await run();
    await collectGarbage(dependencies.store, [], {
      keep: { last: 1, every: 0, best: false },
      graceSeconds: -60,
    });
    Object.assign(rules, { tolerance: 2, version: '2' });
    expect((await rescore()).scores[1]).toMatchObject({ name: 'sums_exact', value: 1 });
  });

  it('of an evaluation that is not there is refused', async () => {
    const { rescore } = await someEvaluation();
    await expect(rescore('nobody')).rejects.toThrow(
      'rescore: got "nobody"; there is no evaluation of that id that has ended',
    );
  });
});

it('of more shards than a workflow has room for is refused', () => {
  const suite = { name: 'sums', skipped: null, cases: 4_000, dataHash: '', asking: '1', versions: {} };
  expect(planShards([suite], 2)).toHaveLength(2_000);
  expect(() => planShards([suite], 1)).toThrow(
    'evaluation: casesPerShard: got 1, which makes 4000 shards of these suites; expected at most 2000',
  );
});
