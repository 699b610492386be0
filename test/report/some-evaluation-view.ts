/* eslint-disable id-denylist -- names of fields on disk */
import { rateScore } from '../../src/benchmarks/suite.ts';
import type { Score } from '../../src/benchmarks/suite.ts';
import type { CaseLine } from '../../src/types/evaluation-types.ts';

const fields = {
  evaluation: {
    name: 'some',
    temperature: 0,
    maxTokens: 1024,
    seed: 0,
    toolFormat: 'prompt',
    limit: null,
    search: null,
    judge: null,
  },
  policy: { type: 'served', baseUrl: 'http://127.0.0.1:9/v1', model: 'm', apiKeyEnv: null, api: 'chat' },
  judged: 1,
};

/** A suite of `results.json`. */
export const someSuite = (
  name: string,
  cases: readonly CaseLine[],
  scores: readonly Score[] = [
    rateScore(`${name}_exact`, cases.filter(({ correct }) => correct).length, cases.length),
  ],
): object => ({
  ...{
    name,
    skipped: null,
    whole: true,
    cases: cases.length,
    dataHash: 'd',
    asking: '1',
    versions: { rules: '1' },
  },
  ...{ prompts: null, questions: cases.length, tokens: 7 * cases.length, cutOff: 0, tooLong: 0, scores },
  correct: cases.filter(({ correct }) => correct).length,
});

/** The content of `results.json`. */
export const someResults = (
  id: string,
  suites: readonly object[],
  aggregates: readonly Score[] = [],
): object => ({ id, ...fields, suites, aggregates });

/** Every third case of a suite is wrong. */
export const someCases = (suite: string, count: number, changes: Partial<CaseLine> = {}): CaseLine[] =>
  Array.from({ length: count }, (_, index) => ({
    suite,
    id: `${suite}-${index}`,
    correct: index % 3 !== 0,
    scores: { exact: index % 3 === 0 ? 0 : 1 },
    reason: [index % 2 === 0 ? 'wrong_sum' : 'no_number', null, null][index % 3] as string | null,
    question: `user: What is ${index} + ${index}?`,
    answer: String(2 * index),
    gold: String(2 * index),
    ...changes,
  }));

export const fileOf = (cases: readonly CaseLine[]): string =>
  cases.map((line) => `${JSON.stringify(line)}\n`).join('');
