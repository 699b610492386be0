/** Activities of an evaluation that somebody else than its workflow schedules. */
import { describe, expect, it } from 'vitest';
import { createEvaluationCpuActivities, createEvaluationLlmActivities } from '../../src/activities/index.ts';
import type { AnswerInput, ScoreInput, ShardRecord } from '../../src/types/evaluation-inputs.ts';
import { InvalidInput } from '../../src/validation/checked-input.ts';
import { someEvaluation } from './some-evaluation.ts';

/** An evaluation that is planned, and another one, of a model that always answers wrong. */
async function twoEvaluations() {
  const honest = await someEvaluation();
  const { dependencies, file } = honest;
  const activities = {
    ...createEvaluationLlmActivities(dependencies),
    ...createEvaluationCpuActivities(dependencies),
  };
  const plan = await activities.planEvaluation({ id: 'some', file: file() });
  const answerKey = await activities.planEvaluation({
    id: 'other',
    file: file({ policy: { type: 'gold' } }),
  });
  const inputOf = ({ evaluation, identity, suites, shards }: typeof plan, shard: number): AnswerInput => {
    const { suite, ...range } = shards[shard]!;
    const planned = suites.find(({ name }) => name === suite);
    if (planned?.skipped !== null) throw new Error('skipped');
    return { id: 'some', evaluation, identity, suite: planned, ...range };
  };
  return { ...honest, activities, plan, answerKey, inputOf };
}

describe('whoever schedules activities of an evaluation', () => {
  it('cannot have answers under the record of another kept as its own', async () => {
    const { activities, plan, answerKey, inputOf, server } = await twoEvaluations();
    const forged = { ...inputOf(plan, 0), evaluation: answerKey.evaluation };
    await expect(activities.answerCases(forged)).rejects.toThrow(InvalidInput);
    await expect(activities.answerCases(forged)).rejects.toThrow(
      'evaluation some: identity: expected that of',
    );
    const { answers } = await activities.answerCases(inputOf(plan, 0));
    await expect(activities.judgeCases({ ...forged, answers, judged: 1 })).rejects.toThrow(InvalidInput);
    // The answers are those of the policy, not of the answer key, which asks nobody.
    expect(server.chats.length).toBeGreaterThan(9);
  });

  it('cannot name a record with the same settings and another policy', async () => {
    const { activities, plan, inputOf, dependencies } = await twoEvaluations();
    const record = await dependencies.store.json<object>(plan.evaluation);
    const forged = await dependencies.store.putJson({ ...record, policy: { type: 'gold' } });
    await expect(activities.answerCases({ ...inputOf(plan, 0), evaluation: forged })).rejects.toThrow(
      'evaluation some: evaluation: it was not planned with this record',
    );
  });

  it('cannot have other answers or verdicts scored, or fewer', async () => {
    const { activities, plan, inputOf, dependencies, results } = await twoEvaluations();
    const { evaluation, identity, suites } = plan;
    const shards: ShardRecord[] = [];
    for (const [index, shard] of plan.shards.entries()) {
      const input = inputOf(plan, index);
      const answered = await activities.answerCases(input);
      const verdicts = await activities.judgeCases({ ...input, answers: answered.answers, judged: 1 });
      shards.push({ ...shard, answered, verdicts });
    }
    const input: ScoreInput = { id: 'some', evaluation, identity, suites, shards, judged: 1 };
    const right = { correct: true, scores: { exact: 1, near: 1 }, reason: null };
    const verdicts = await dependencies.store.putRecords(
      Array.from({ length: 10 }, (_, index) => ({ id: `sum-${index}`, verdict: right })),
    );
    const answers = await dependencies.store.putRecords([{ id: 'sum-0', response: {} }]);
    const [first, second, third] = shards as [ShardRecord, ShardRecord, ShardRecord];
    for (const [forged, problem] of [
      [[{ ...first, verdicts }, second, third], 'shard 0 of sums: its verdicts are not those'],
      [
        [{ ...first, answered: { ...first.answered, answers } }, second, third],
        'shard 0 of sums: its answers are not those',
      ],
      [[first, second], 'shards of sums: expected 3 of 10 cases, each once, up to 23'],
      [[first, third], 'shards of sums: expected 3 of 10 cases'],
      [[first, first, second, third], 'shards of sums: expected 3 of 10 cases'],
    ] as const)
      await expect(activities.scoreEvaluation({ ...input, shards: [...forged] })).rejects.toThrow(problem);
    const fewer = { ...inputOf(plan, 0).suite, cases: 10 };
    const part = { ...inputOf(plan, 0), suite: fewer };
    const answered = await activities.answerCases(part);
    const judged = await activities.judgeCases({ ...part, answers: answered.answers, judged: 1 });
    const shard: ShardRecord = { ...first, answered, verdicts: judged };
    await expect(activities.scoreEvaluation({ ...input, suites: [fewer], shards: [shard] })).rejects.toThrow(
      'cases of sums: got 10; expected 23',
    );
    await expect(activities.scoreEvaluation({ ...input, suites: [...suites, ...suites] })).rejects.toThrow(
      'suites: got sums twice; expected each once',
    );
    expect(await results()).toBeUndefined();
    await activities.scoreEvaluation(input);
    expect((await results()).suites).toMatchObject([{ correct: 19 }]);
  });

  it('cannot have answers scored that were drawn in other shards than planned', async () => {
    const { activities, plan, inputOf, results } = await twoEvaluations();
    const { evaluation, identity, suites } = plan;
    const shards: ShardRecord[] = [];
    const ranges: [number, number][] = [
      [0, 12],
      [12, 23],
    ];
    for (const [shard, [from, to]] of ranges.entries()) {
      const input = { ...inputOf(plan, 0), shard, from, to };
      const answered = await activities.answerCases(input);
      const verdicts = await activities.judgeCases({ ...input, answers: answered.answers, judged: 1 });
      shards.push({ suite: 'sums', shard, from, to, answered, verdicts });
    }
    const input: ScoreInput = { id: 'some', evaluation, identity, suites, shards, judged: 1 };
    await expect(activities.scoreEvaluation(input)).rejects.toThrow(InvalidInput);
    await expect(activities.scoreEvaluation(input)).rejects.toThrow(
      'evaluation some: shards of sums: expected 3 of 10 cases, each once, up to 23',
    );
    expect(await results()).toBeUndefined();
  });

  it('cannot have shards of a suite that is not scored written into the results', async () => {
    const { activities, plan, results } = await twoEvaluations();
    const { evaluation, identity } = plan;
    const nothing = { prompts: null, questions: 0, tokens: 0, cutOff: 0, tooLong: 0 };
    const shard = { ...plan.shards[0]!, answered: { answers: evaluation, ...nothing }, verdicts: evaluation };
    await activities.scoreEvaluation({
      id: 'some',
      evaluation,
      identity,
      suites: [],
      shards: [shard],
      judged: 1,
    });
    expect((await results()).shards).toEqual([]);
  });
});
