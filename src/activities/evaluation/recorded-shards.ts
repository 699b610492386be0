import { hashOf } from '../../store/canonical-json.ts';
import type { FileRef } from '../../store/references.ts';
import type { Answered, ReadySuite, ScoreInput, ShardRecord } from '../../types/evaluation-inputs.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import type { Dependencies } from '../dependencies.ts';
import { shardKey } from './evaluation-inputs.ts';

/**
 * The shards of a suite, in order. Answers and verdicts are those that this project's activities recorded for
 * these cases: whoever schedules the scoring could name others, or leave cases out.
 * @param cases how many the suite has under this evaluation
 * @throws InvalidInput naming the shard
 */
export async function recordedShards(
  dependencies: Dependencies,
  input: ScoreInput,
  suite: ReadySuite,
  cases: number,
): Promise<ShardRecord[]> {
  const shards = input.shards.filter((shard) => shard.suite === suite.name).sort((a, b) => a.shard - b.shard);
  const before = await dependencies.evaluationFolder(input.id).readResults();
  const isScoredBefore = before?.identity === input.identity;
  const earlier = isScoredBefore ? before.shards.filter((shard) => shard.suite === suite.name) : [];
  const casesBefore = isScoredBefore ? before.suites.find(({ name }) => name === suite.name) : undefined;
  const refuse = (shard: number, problem: string): never => {
    throw new InvalidInput(`evaluation ${input.id}: shard ${shard} of ${suite.name}: ${problem}`);
  };
  // Judged again, a suite has as many cases as it had when it was asked.
  const isCounted =
    suite.cases === cases || (casesBefore?.skipped === null && casesBefore.cases === suite.cases);
  let next = 0;
  for (const [index, shard] of shards.entries()) {
    const { from, to, answered, verdicts } = shard;
    if (shard.shard !== index || from !== next || to <= from)
      refuse(shard.shard, `expected shard ${index}, of cases from ${next} on`);
    next = to;
    const common = { id: input.id, evaluation: input.evaluation, identity: input.identity, suite };
    const range = { shard: shard.shard, from, to };
    const isSame = (recorded: unknown): boolean => hashOf(recorded ?? null) === hashOf(answered);
    const answers = await dependencies.keys.lookup<Answered>(shardKey('answer', { ...common, ...range }));
    if (!isSame(answers) && !earlier.some((line) => line.shard === index && isSame(line.answered)))
      refuse(index, 'its answers are not those that were recorded');
    const judged = { ...common, ...range, answers: answered.answers, judged: input.judged };
    const recorded = await dependencies.keys.lookup<FileRef>(shardKey('judge', judged));
    if (recorded?.sha256 !== verdicts.sha256) refuse(index, 'its verdicts are not those that were recorded');
  }
  if (!isCounted || next !== suite.cases) refuse(shards.length, `cases from ${next} to ${cases} are missing`);
  return shards;
}
