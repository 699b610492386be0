import { readFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import type { Dependencies } from '../../src/activities/dependencies.ts';
import { createEvaluationCpuActivities, createEvaluationLlmActivities } from '../../src/activities/index.ts';
import { SuiteLoader } from '../../src/benchmarks/suite-loader.ts';
import { meanScore, rateScore } from '../../src/benchmarks/suite.ts';
import type { Benchmark, Case, CaseVerdict, OpenSuite, Suite } from '../../src/benchmarks/suite.ts';
import type { ModelClients } from '../../src/inference/model-clients.ts';
import type { ActivityContext } from '../../src/runtime/activity-context.ts';
import type { PlannedSuite, ReadySuite, ShardRecord } from '../../src/types/evaluation-inputs.ts';
import type { EvaluationResults, Scored } from '../../src/types/evaluation-types.ts';
import type { FakeChat } from '../../test-support/fake-chat.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { plainDependencies } from '../../test-support/plain-epochs.ts';
import { memoryFolder } from '../store/temporary-folder.ts';
import { permitLoopback } from '../../test-support/permitted-servers.ts';

interface Sum extends Case {
  left: number;
  right: number;
}
interface SumResponse {
  answers: string[];
  looked: number | null;
  judged: string | null;
}

const cases = Array.from({ length: 23 }, (_, index): Sum => ({
  id: `sum-${index}`,
  left: index,
  right: 2 * index,
}));

/** What decides the suite below; tests change it. */
export interface Rules {
  missing: string | null;
  cannotAsk: string | undefined;
  version: string;
  asking: string;
  tolerance: number;
  /** Searches made, which no retry may make again. */
  searches: number;
  /** How many cases were judged at a time. */
  judged: number[];
  /** What each verdict says besides. */
  detail: unknown;
}

/**
 * Questions for sums, doubted in a second turn if the first answer is odd, with a search in between: every
 * kind of effect that a case has.
 */
export function sums(rules: Rules): Benchmark {
  const suite = (name: string, searching: boolean): Suite<Sum, SumResponse> => ({
    name,
    about: 'Sums.',
    refuses: ({ search }) =>
      searching && search === null ? 'search: missing; sums_search needs an endpoint' : null,
    open: () => Promise.resolve(rules.missing === null ? open() : { missing: rules.missing }),
  });
  const open = (): OpenSuite<Sum, SumResponse> => ({
    cases,
    dataHash: 'd'.repeat(64),
    promptVersion: rules.asking,
    get cannotAsk() {
      return rules.cannotAsk;
    },
    versions: { rules: rules.version },
    async attempt({ left, right }, { ask, once, judge }) {
      const messages = [{ role: 'user' as const, content: `${left} + ${right}?` }];
      const first = await ask({ messages });
      if (Number(first.text) % 2 === 0) return { answers: [first.text], looked: null, judged: null };
      const looked = await once(() => Promise.resolve(++rules.searches));
      const second = await ask({
        messages: [
          ...messages,
          { role: 'assistant', content: first.text },
          { role: 'user', content: 'Sure?' },
        ],
      });
      const judged =
        judge === null
          ? null
          : (await judge({ messages: [{ role: 'user', content: `Is ${second.text} right?` }] })).text;
      return { answers: [first.text, second.text], looked, judged };
    },
    judgeBatchSize: 4,
    judge: (answered) => {
      rules.judged.push(answered.length);
      return Promise.resolve(
        answered.map(({ item, response }): CaseVerdict => {
          const off = Math.abs(Number(response.answers.at(-1)) - item.left - item.right);
          return {
            correct: off <= rules.tolerance,
            scores: { exact: Number(off <= rules.tolerance), near: 1 / (1 + off) },
            reason: off <= rules.tolerance ? null : 'wrong_sum',
            ...(rules.detail !== undefined && { detail: rules.detail }),
          };
        }),
      );
    },
    scores: (verdicts) => [
      rateScore('sums_exact', verdicts.filter(({ verdict }) => verdict.correct).length, verdicts.length),
      meanScore(
        'sums_near',
        verdicts.map(({ verdict }) => verdict.scores.near!),
      ),
    ],
    gold: ({ id, left, right }) =>
      id === 'sum-0' ? undefined : { answers: [String(left + right)], looked: null, judged: null },
    close: () => Promise.resolve(),
  });
  return {
    name: 'sums',
    suites: [suite('sums', false), suite('sums_search', true)],
    aggregate: (bySuite) => [
      {
        name: 'sums_all',
        value: bySuite.get('sums')?.[0]?.value ?? 0,
        // eslint-disable-next-line id-denylist -- name of a field on disk
        of: bySuite.size,
        successes: null,
        interval: null,
      },
    ],
  };
}

/** Answers with sums, every fifth one wrong. */
export const summing = (messages: readonly { content: string }[]): string => {
  const [left = NaN, right = NaN] = (/(\d+) \+ (\d+)/.exec(messages[0]!.content) ?? []).slice(1).map(Number);
  if (Number.isNaN(left)) return 'yes';
  return String(left + right + (left % 5 === 4 ? 2 : 0));
};

export const completing: FakeModel = (prompt) => summing([{ content: prompt }]);

const findSuite = (suites: readonly PlannedSuite[], name: string): ReadySuite =>
  suites.find((suite): suite is ReadySuite => suite.name === name && suite.skipped === null)!;

export interface SomeEvaluation {
  rules: Rules;
  server: FakeModelServer;
  dependencies: Dependencies;
  file: (fields?: object) => Record<string, unknown>;
  /** What the workflow `evaluation` does, in a plain loop. */
  run: (fields?: object, id?: string, context?: Partial<ActivityContext>) => Promise<Scored>;
  rescore: (id?: string) => Promise<Scored>;
  results: (id?: string) => Promise<EvaluationResults>;
  /** Bytes of what is written for people. */
  bytes: (id?: string) => Promise<string[]>;
}

export async function someEvaluation({
  chat = summing,
  server: sharedServer,
  clients = {},
}: {
  chat?: FakeChat;
  server?: FakeModelServer;
  clients?: Partial<ModelClients>;
} = {}): Promise<SomeEvaluation> {
  const folder = await memoryFolder();
  const rules: Rules = {
    missing: null,
    cannotAsk: undefined,
    version: '1',
    asking: '1',
    tolerance: 0,
    searches: 0,
    judged: [],
    detail: undefined,
  };
  const server = sharedServer ?? (await FakeModelServer.start({ model: completing, chat }));
  if (sharedServer === undefined) onTestFinished(() => server[Symbol.asyncDispose]());
  const dependenciesOf = (context: Partial<ActivityContext> = {}): Dependencies => ({
    ...plainDependencies(folder, server.url, new FakeTrainer(), context),
    ...clients,
    suites: new SuiteLoader([sums(rules)], {
      shipped: '',
      downloads: '',
      enginePython: () => Promise.resolve(null),
      permitServer: permitLoopback,
    }),
  });
  const dependencies = dependenciesOf();
  const createActivities = (context?: Partial<ActivityContext>) => {
    const own = dependenciesOf(context);
    return { ...createEvaluationLlmActivities(own), ...createEvaluationCpuActivities(own) };
  };
  const file = (fields: object = {}): Record<string, unknown> => ({
    name: 'some',
    policy: { type: 'served', baseUrl: server.url, model: 'any' },
    suites: ['sums'],
    questionsPerRequest: 4,
    casesPerShard: 10,
    ...fields,
  });
  const results = async (id = 'some'): Promise<EvaluationResults> =>
    (await dependencies.evaluationFolder(id).readResults())!;
  return {
    rules,
    server,
    dependencies,
    file,
    results,
    async run(fields, id = 'some', context) {
      const { planEvaluation, answerCases, judgeCases, scoreEvaluation } = createActivities(context);
      const { evaluation, identity, suites, shards } = await planEvaluation({ id, file: file(fields) });
      const records: ShardRecord[] = [];
      for (const { suite: name, ...range } of shards) {
        const input = {
          id,
          evaluation,
          identity,
          suite: findSuite(suites, name),
          ...range,
        };
        const answered = await answerCases(input);
        records.push({
          suite: name,
          ...range,
          answered,
          verdicts: await judgeCases({ ...input, answers: answered.answers, judged: 1 }),
        });
      }
      return scoreEvaluation({ id, evaluation, identity, suites, shards: records, judged: 1 });
    },
    async rescore(id = 'some') {
      const { planRescoring, judgeCases, scoreEvaluation } = createActivities();
      const { evaluation, identity, suites, shards, judged } = await planRescoring({ id });
      const records: ShardRecord[] = [];
      for (const { suite: name, shard, from, to, answered } of shards) {
        const suite = findSuite(suites, name);
        records.push({
          suite: name,
          shard,
          from,
          to,
          answered,
          verdicts: await judgeCases({
            id,
            evaluation,
            identity,
            suite,
            shard,
            from,
            to,
            answers: answered.answers,
            judged: judged + 1,
          }),
        });
      }
      return scoreEvaluation({ id, evaluation, identity, suites, shards: records, judged: judged + 1 });
    },
    bytes: (id = 'some') =>
      Promise.all(
        [dependencies.evaluationFolder(id).resultsFile, dependencies.evaluationFolder(id).casesFile].map(
          (path) => readFile(path, 'utf8'),
        ),
      ),
  };
}
