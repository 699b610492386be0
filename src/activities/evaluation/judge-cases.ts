import { collect } from '../../async/streams.ts';
import type { CaseVerdict, OpenSuite } from '../../benchmarks/suite.ts';
import { JournaledClient } from '../../rollouts/journaled-client.ts';
import { runOnce } from '../../runtime/run-once.ts';
import type { FileRef } from '../../store/references.ts';
import type { JudgeInput } from '../../types/evaluation-inputs.ts';
import type { AnswerRecord } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { readRecord, shardKey, withPlannedSuite } from './evaluation-inputs.ts';

/** Cases judged at a time: enough to keep engines busy, and few enough to be recorded often. */
const DEFAULT_BATCH_SIZE = 64;

/** A verdict with its case, as `scores` of a suite takes them. */
export interface VerdictLine {
  id: string;
  verdict: CaseVerdict;
}

/** Judges the answers of a shard; no policy is asked. Each batch of verdicts is on disk before the next. */
export function createJudgeCases(dependencies: Dependencies) {
  return async (input: JudgeInput): Promise<FileRef> => {
    const { evaluation } = await readRecord(dependencies, input);
    return runOnce(dependencies, shardKey('judge', input), (work) =>
      withPlannedSuite(dependencies, evaluation, input.suite, async (opened) => {
        const cases = new Map(opened.cases.map((item) => [item.id, item]));
        const caseOf = (id: string): OpenSuite['cases'][number] => {
          const item = cases.get(id);
          if (item === undefined)
            throw new InvalidConfig(`evaluation: ${input.suite.name} has no case ${JSON.stringify(id)}`);
          return item;
        };
        const answers = await collect(dependencies.store.records<AnswerRecord>(input.answers));
        const lines: VerdictLine[] = [];
        await using client = await JournaledClient.open<readonly AnswerRecord[], VerdictLine[]>(
          dependencies,
          work,
          {
            responses: 'verdicts.jsonl',
            send: async (batch, signal) => {
              const attempts = batch.map(({ id, response }) => ({ item: caseOf(id), response }));
              const verdicts = await opened.judge(attempts, signal);
              return verdicts.map((verdict, index) => ({ id: batch[index]!.id, verdict }));
            },
            heartbeatDetails: ({ response }) => ({ judged: lines.length + response.length }),
          },
        );
        const size = opened.judgeBatchSize ?? DEFAULT_BATCH_SIZE;
        while (lines.length < answers.length)
          lines.push(...(await client.complete(answers.slice(lines.length, lines.length + size))));
        return await dependencies.store.putRecords(lines);
      }),
    );
  };
}
