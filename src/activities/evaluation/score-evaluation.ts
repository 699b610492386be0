import { collect } from '../../async/streams.ts';
import { meanOfFive } from '../../benchmarks/mean-of-five.ts';
import type { OpenSuite, Score } from '../../benchmarks/suite.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { writeEvaluationPage } from '../../report/write-evaluation-page.ts';
import { canonicalJson, hashOf } from '../../store/canonical-json.ts';
import type { ReadySuite, ScoreInput, ShardRecord } from '../../types/evaluation-inputs.ts';
import type { CaseLine, EvaluationResults, Scored, SuiteResults } from '../../types/evaluation-types.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import type { Dependencies } from '../dependencies.ts';
import { caseLines } from './case-lines.ts';
import { casesOf, readRecord, withPlannedSuite } from './evaluation-inputs.ts';
import type { VerdictLine } from './judge-cases.ts';
import { recordedShards } from './recorded-shards.ts';

/**
 * Computes the scores, from the verdicts alone: the same bytes on every worker.
 * @throws InvalidConfig if a suite is not on this worker as it was planned
 * @throws InvalidInput for shards that were not planned, answers or verdicts that were not recorded, and a
 *   suite that is listed twice
 */
export function createScoreEvaluation(dependencies: Dependencies) {
  return async (input: ScoreInput): Promise<Scored> => {
    const { id, evaluation: record, identity, suites, judged } = input;
    const { evaluation, policy } = await readRecord(dependencies, input);
    for (const [index, { name }] of suites.entries())
      if (suites.findIndex((suite) => suite.name === name) !== index)
        throw new InvalidInput(`evaluation ${id}: suites: got ${name} twice; expected each once`);
    const results: SuiteResults[] = [];
    const shards: ShardRecord[] = [];
    const lines: CaseLine[] = [];
    for (const planned of suites) {
      if (planned.skipped !== null) {
        results.push({ name: planned.name, skipped: planned.skipped });
        continue;
      }
      await withPlannedSuite(dependencies, evaluation, planned, async (opened) => {
        const suiteShards = await recordedShards(dependencies, input, planned, {
          cases: casesOf(opened, evaluation).length,
          casesPerShard: evaluation.casesPerShard,
        });
        shards.push(...suiteShards);
        const verdictsByShard = await Promise.all(
          suiteShards.map((shard) => collect(dependencies.store.records<VerdictLine>(shard.verdicts))),
        );
        const verdicts = verdictsByShard.flat();
        lines.push(...(await caseLines(dependencies, planned, opened, { shards: suiteShards, verdicts })));
        results.push(suiteResults(planned, suiteShards, { evaluation, opened, verdicts }));
      });
      dependencies.activityContext().heartbeat({ suite: planned.name });
    }
    const scored = results.flatMap((suite) => ('scores' in suite ? [suite] : []));
    const complete = scored.filter((suite) => suite.whole);
    const scoresBySuite = new Map(complete.map(({ name, scores }) => [name, scores]));
    const ofBenchmarks = dependencies.suites.benchmarks.flatMap((benchmark) => {
      const hasScores = benchmark.suites.some(({ name }) => scoresBySuite.has(name));
      return hasScores ? (benchmark.aggregate?.(scoresBySuite) ?? []) : [];
    });
    const aggregates = [...ofBenchmarks, ...meanOfFive(complete.flatMap(({ scores }) => scores))];
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
    await folder.writeFile(folder.casesFile, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    // Canonical order of keys, whatever order the parts came in.
    await folder.writeFile(
      folder.resultsFile,
      `${JSON.stringify(JSON.parse(canonicalJson(all)), null, 1)}\n`,
    );
    await writeEvaluationPage(folder);
    const skipped = results.flatMap(({ name, skipped: reason }) =>
      reason === null ? [] : [{ name, reason }],
    );
    return {
      results: folder.inHome(folder.resultsFile),
      cases: folder.inHome(folder.casesFile),
      scores: [...aggregates, ...scored.flatMap(({ scores }) => scores)],
      skipped,
    };
  };
}

function suiteResults(
  planned: ReadySuite,
  shards: readonly ShardRecord[],
  {
    evaluation,
    opened,
    verdicts,
  }: { evaluation: Evaluation; opened: OpenSuite; verdicts: readonly VerdictLine[] },
): SuiteResults {
  const total = (count: 'questions' | 'tokens' | 'cutOff' | 'tooLong'): number =>
    shards.reduce((subtotal, { answered }) => subtotal + answered[count], 0);
  const isComplete = casesOf(opened, evaluation).length === opened.cases.length;
  // Scores of a part of the cases are not scores of the benchmark, and their names say so.
  const part = evaluation.limit === null ? 'keyed' : `first${verdicts.length}`;
  const share = `${verdicts.length} of ${opened.cases.length} cases`;
  const partialScore = (score: Score): Score => ({
    ...score,
    name: `${score.name}_${part}`,
    note: score.note === undefined ? share : `${share}; ${score.note}`,
  });
  const scores = opened.scores(verdicts);
  const prompts = shards.every(({ answered }) => answered.prompts !== null)
    ? hashOf(shards.map(({ answered }) => answered.prompts))
    : null;
  return {
    ...planned,
    // eslint-disable-next-line id-denylist -- name of a field on disk
    whole: isComplete,
    scores: isComplete ? scores : scores.map(partialScore),
    prompts,
    correct: verdicts.filter(({ verdict }) => verdict.correct).length,
    questions: total('questions'),
    tokens: total('tokens'),
    cutOff: total('cutOff'),
    tooLong: total('tooLong'),
  };
}
