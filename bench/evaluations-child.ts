import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEvaluationCpuActivities, createEvaluationLlmActivities } from '../src/activities/index.ts';
import type { ReadySuite, ShardRecord } from '../src/types/evaluation-inputs.ts';
import { FakeTrainer } from '../test-support/fake-trainer.ts';
import { plainDependencies } from '../test-support/plain-epochs.ts';

const rounds = 8;

/**
 * Evaluations in a process of their own, against the server that is given: cases a second, asked, judged and
 * scored.
 */
const [url = '', api = 'completions'] = process.argv.slice(2);
const home = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'genenv-bench-'));
const ports = plainDependencies(home, url, new FakeTrainer());
const { planEvaluation, answerCases, judgeCases, scoreEvaluation } = {
  ...createEvaluationLlmActivities(ports),
  ...createEvaluationCpuActivities(ports),
};
// As many answers to a request as half a request of rollouts has.
const file = {
  name: 'bench',
  policy: { type: 'served', baseUrl: url, model: 'any', api },
  suites: ['api_bank_*', 'bamboogle_closedbook'],
  questionsPerRequest: 128,
};
try {
  let [cases, seconds] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const id = `bench-${round}`;
    const { evaluation, identity, suites, shards } = await planEvaluation({ id, file });
    // The suites are open: what is measured is each case.
    const begun = performance.now();
    const records: ShardRecord[] = [];
    await Promise.all(
      [0, 1, 2, 3].map(async (lane) => {
        for (const { suite: name, ...range } of shards.filter((_, index) => index % 4 === lane)) {
          const input = {
            id,
            evaluation,
            identity,
            suite: suites.find((suite): suite is ReadySuite => suite.name === name)!,
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
      }),
    );
    await scoreEvaluation({ id, evaluation, identity, suites, shards: records, judged: 1 });
    seconds += (performance.now() - begun) / 1000;
    cases += suites.reduce((sum, suite) => sum + (suite.skipped === null ? suite.cases : 0), 0);
  }
  console.log(JSON.stringify({ api, cases, cases_per_second: Math.round(cases / seconds) }));
} finally {
  rmSync(home, { recursive: true, force: true });
}
