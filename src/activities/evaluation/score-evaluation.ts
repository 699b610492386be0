import { relative } from 'node:path';
import { collect } from '../../async/streams.ts';
import type { CaseVerdict, OpenSuite } from '../../benchmarks/suite.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { atomicWrite } from '../../store/atomic-write.ts';
import { canonicalJson, hashOf } from '../../store/canonical-json.ts';
import type {
  CaseLine,
  EvaluationResults,
  ReadySuite,
  Scored,
  ScoreInput,
  ShardRecord,
  SuiteResults,
} from '../../types/evaluation-types.ts';
import type { Dependencies } from '../dependencies.ts';
import { casesOf, plannedSuite, readRecord } from './evaluation-inputs.ts';
import type { VerdictLine } from './judge-cases.ts';

/**
 * Makes the figures, from the verdicts alone: the same bytes whenever and wherever it is done.
 * @throws InvalidConfig where a suite is not on this worker as it was planned
 */
export function createScoreEvaluation(dependencies: Dependencies) {
  return async ({
    id,
    evaluation: record,
    identity,
    suites,
    shards,
    judged,
  }: ScoreInput): Promise<Scored> => {
    const { evaluation, policy } = await readRecord(dependencies, record);
    const results: SuiteResults[] = [];
    const lines: CaseLine[] = [];
    for (const planned of suites) {
      if (planned.skipped !== null) {
        results.push({ name: planned.name, skipped: planned.skipped });
        continue;
      }
      const { opened } = await plannedSuite(dependencies, evaluation, planned);
      const own = shards
        .filter(({ suite }) => suite === planned.name)
        .sort((one, other) => one.shard - other.shard);
      const verdicts = (
        await Promise.all(
          own.map(({ verdicts: file }) => collect(dependencies.store.records<VerdictLine>(file))),
        )
      ).flat();
      lines.push(
        ...verdicts.map(({ id: of, verdict: { correct, scores, reason } }) => ({
          suite: planned.name,
          id: of,
          correct,
          scores,
          reason,
        })),
      );
      results.push(suiteResults(planned, own, evaluation, opened, verdicts));
      dependencies.activityContext().heartbeat({ suite: planned.name });
    }
    const scored = results.flatMap((suite) => ('scores' in suite ? [suite] : []));
    const bySuite = new Map(scored.filter(({ whole }) => whole).map(({ name, scores }) => [name, scores]));
    const aggregates = dependencies.suites.benchmarks.flatMap((benchmark) =>
      benchmark.suites.some(({ name }) => bySuite.has(name)) ? (benchmark.aggregate?.(bySuite) ?? []) : [],
    );
    const folder = dependencies.evaluationFolder(id);
    const all: EvaluationResults = {
      id,
      evaluation,
      policy,
      record,
      identity,
      suites: results,
      aggregates,
      shards,
      judged,
    };
    await atomicWrite(folder.casesFile, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    // In one order of keys, however the parts came here.
    await atomicWrite(folder.resultsFile, `${JSON.stringify(JSON.parse(canonicalJson(all)), null, 1)}\n`);
    const inHome = (file: string): string => relative(`${folder.path}/../..`, file);
    const skipped = results.flatMap(({ name, skipped: reason }) =>
      reason === null ? [] : [{ name, reason }],
    );
    return {
      results: inHome(folder.resultsFile),
      cases: inHome(folder.casesFile),
      scores: [...aggregates, ...scored.flatMap(({ scores }) => scores)],
      skipped,
    };
  };
}

function suiteResults(
  planned: ReadySuite,
  shards: readonly ShardRecord[],
  evaluation: Evaluation,
  opened: OpenSuite,
  verdicts: readonly { id: string; verdict: CaseVerdict }[],
): SuiteResults {
  const sum = (count: 'questions' | 'tokens' | 'cutOff' | 'tooLong'): number =>
    shards.reduce((total, { answered }) => total + answered[count], 0);
  // A part of the cases is no score of the benchmark, and its name says so.
  const whole = casesOf(opened, evaluation).length === opened.cases.length;
  const scores = opened.scores(verdicts).map((score) =>
    whole
      ? score
      : {
          ...score,
          name: `${score.name}_${evaluation.limit === null ? 'keyed' : `first${verdicts.length}`}`,
          note: [
            `${verdicts.length} of ${opened.cases.length} cases`,
            ...(score.note === undefined ? [] : [score.note]),
          ].join('; '),
        },
  );
  const prompts = shards.every(({ answered }) => answered.prompts !== null)
    ? hashOf(shards.map(({ answered }) => answered.prompts))
    : null;
  return {
    ...planned,
    whole,
    scores,
    prompts,
    correct: verdicts.filter(({ verdict }) => verdict.correct).length,
    questions: sum('questions'),
    tokens: sum('tokens'),
    cutOff: sum('cutOff'),
    tooLong: sum('tooLong'),
  };
}
