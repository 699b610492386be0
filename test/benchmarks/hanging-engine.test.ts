import { expect, it } from 'vitest';
import { createEvaluationCpuActivities, createEvaluationLlmActivities } from '../../src/activities/index.ts';
import { SuiteLoader } from '../../src/benchmarks/suite-loader.ts';
import { SidecarFailed } from '../../src/benchmarks/suite.ts';
import type { Benchmark, OpenSuite } from '../../src/benchmarks/suite.ts';
import type { ReadySuite } from '../../src/types/evaluation-inputs.ts';
import { someEvaluation, sums } from '../evaluation/some-evaluation.ts';
import { hostWith } from './travelplanner-support.ts';

/** The sums, by an engine whose first process does not answer the activity. */
function hangingSums(
  rules: Parameters<typeof sums>[0],
  activity: 'attempt' | 'judge',
  onHang: () => void,
): Benchmark {
  let processes = 0;
  const { suites, ...benchmark } = sums(rules);
  const hanging = (opened: OpenSuite): OpenSuite => {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    const hang = () => {
      setImmediate(onHang);
      return promise;
    };
    const close = () => {
      reject(new SidecarFailed('killed'));
      return Promise.resolve();
    };
    return { ...opened, [activity]: hang, close };
  };
  return {
    ...benchmark,
    suites: suites.map((suite) => ({
      ...suite,
      async open(host, settings) {
        const opened = await suite.open(host, settings);
        return 'missing' in opened || processes++ > 0 ? opened : hanging(opened);
      },
    })),
  };
}

it.each([
  ['attempt', 'signal'],
  ['attempt', 'stalled'],
  ['judge', 'signal'],
  ['judge', 'stalled'],
] as const)('an engine that hangs in `%s` is replaced after the attempt’s %s', async (hangsIn, ending) => {
  const { rules, file, dependencies } = await someEvaluation();
  const givenUp = new AbortController();
  const giveUp = (): void => givenUp.abort(new Error('given up'));
  const suites = new SuiteLoader([hangingSums(rules, hangsIn, giveUp)], hostWith('/nowhere'));
  const activitiesOf = (ended: Partial<Record<typeof ending, AbortSignal>>) => {
    const context = dependencies.activityContext();
    const own = { ...dependencies, suites, activityContext: () => ({ ...context, ...ended }) };
    return { ...createEvaluationLlmActivities(own), ...createEvaluationCpuActivities(own) };
  };
  const { planEvaluation, answerCases, judgeCases } = activitiesOf({});
  const {
    evaluation,
    identity,
    suites: planned,
    shards,
  } = await planEvaluation({ id: 'some', file: file() });
  const input = {
    ...shards[0]!,
    id: 'some',
    evaluation,
    identity,
    suite: planned[0] as ReadySuite,
  };
  const hung = activitiesOf({ [ending]: givenUp.signal });
  if (hangsIn === 'attempt') await expect(hung.answerCases(input)).rejects.toThrow(/given up|killed/);
  const { answers } = await answerCases(input);
  const judged = { ...input, answers, judged: 1 };
  if (hangsIn === 'judge') await expect(hung.judgeCases(judged)).rejects.toThrow(/given up|killed/);
  expect(await judgeCases(judged)).toHaveProperty('sha256');
});
