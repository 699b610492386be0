import { hashOf } from '../../store/canonical-json.ts';
import type { FileRef } from '../../store/references.ts';
import type { Answered, ReadySuite, ScoreInput, ShardRecord } from '../../types/evaluation-inputs.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import type { Dependencies } from '../dependencies.ts';
import { shardKey } from './evaluation-inputs.ts';
import { shardsOf } from './plan-evaluation.ts';

/**
 * The shards of a suite, in order. They are those that the evaluation plans, and their answers and verdicts
 * those that this project's activities recorded for them: whoever schedules the scoring could name others,
 * choose the better of two draws by cutting the cases otherwise, or leave cases out.
 * @param cases how many the suite has under this evaluation
 * @throws InvalidInput naming the suite, and the shard
 */
export async function recordedShards(
  dependencies: Dependencies,
  input: ScoreInput,
  suite: ReadySuite,
  { cases, casesPerShard }: { cases: number; casesPerShard: number },
): Promise<ShardRecord[]> {
  const shards = input.shards.filter((shard) => shard.suite === suite.name).sort((a, b) => a.shard - b.shard);
  const before = await dependencies.evaluationFolder(input.id).readResults();
  const isScoredBefore = before?.identity === input.identity;
  const earlier = isScoredBefore ? before.shards.filter((shard) => shard.suite === suite.name) : [];
  const casesBefore = isScoredBefore ? before.suites.find(({ name }) => name === suite.name) : undefined;
  const refuse = (field: string, problem: string): never => {
    throw new InvalidInput(`evaluation ${input.id}: ${field} of ${suite.name}: ${problem}`);
  };
  // Judged again, a suite has as many cases as it had when it was asked.
  const isCounted =
    suite.cases === cases || (casesBefore?.skipped === null && casesBefore.cases === suite.cases);
  if (!isCounted) refuse('cases', `got ${suite.cases}; expected ${cases}`);
  const planned = shardsOf(suite, casesPerShard);
  const ranges = shards.map(({ suite: name, shard, from, to }) => ({ suite: name, shard, from, to }));
  if (hashOf(ranges) !== hashOf(planned))
    refuse('shards', `expected ${planned.length} of ${casesPerShard} cases, each once, up to ${suite.cases}`);
  for (const [index, { from, to, answered, verdicts }] of shards.entries()) {
    const common = { id: input.id, evaluation: input.evaluation, identity: input.identity, suite };
    const range = { shard: index, from, to };
    const isSame = (recorded: unknown): boolean => hashOf(recorded ?? null) === hashOf(answered);
    const answers = await dependencies.keys.lookup<Answered>(shardKey('answer', { ...common, ...range }));
    if (!isSame(answers) && !earlier.some((line) => line.shard === index && isSame(line.answered)))
      refuse(`shard ${index}`, 'its answers are not those that were recorded');
    const judged = { ...common, ...range, answers: answered.answers, judged: input.judged };
    const recorded = await dependencies.keys.lookup<FileRef>(shardKey('judge', judged));
    if (recorded?.sha256 !== verdicts.sha256)
      refuse(`shard ${index}`, 'its verdicts are not those that were recorded');
  }
  return shards;
}
