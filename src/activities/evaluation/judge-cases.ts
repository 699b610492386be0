import { join } from 'node:path';
import { collect } from '../../async/streams.ts';
import { SidecarFailed } from '../../benchmarks/suite.ts';
import type { CaseVerdict } from '../../benchmarks/suite.ts';
import { runOnce } from '../../runtime/run-once.ts';
import { Journal } from '../../store/journal.ts';
import type { FileRef } from '../../store/references.ts';
import type { AnswerRecord, JudgeInput } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { plannedSuite, readRecord, shardKey } from './evaluation-inputs.ts';

/**
 * Cases judged at a time where the suite says nothing: enough for engines to be busy, and few enough to be
 * kept often.
 */
const batchSize = 64;

/** A verdict with its case, as `scores` of a suite takes them. */
export interface VerdictLine {
  id: string;
  verdict: CaseVerdict;
}

/** Judges the answers of a shard; no model is asked. Verdicts are on disk as they are made. */
export function createJudgeCases(dependencies: Dependencies) {
  return (input: JudgeInput): Promise<FileRef> =>
    runOnce(dependencies, shardKey('judge', input), async (work) => {
      const { signal, heartbeat } = dependencies.activityContext();
      const { evaluation } = await readRecord(dependencies, input.evaluation);
      const { suite, opened } = await plannedSuite(dependencies, evaluation, input.suite);
      const items = new Map(opened.cases.map((item) => [item.id, item]));
      const answers = await collect(dependencies.store.records<AnswerRecord>(input.answers));
      const folder = await work();
      const claim = await folder.claim();
      const journal = await Journal.open<VerdictLine[]>(join(folder.path, 'verdicts.jsonl'), {
        onDamage: dependencies.onDamage,
        assertCurrent: () => claim.assertCurrent(),
      });
      const lines: VerdictLine[] = journal.entries.flat();
      try {
        while (lines.length < answers.length) {
          signal.throwIfAborted();
          const batch = answers
            .slice(lines.length, lines.length + (opened.judgeBatchSize ?? batchSize))
            .map(({ id, response }) => {
              const item = items.get(id);
              if (item === undefined)
                throw new InvalidConfig(`evaluation: ${suite.name} has no case ${JSON.stringify(id)}`);
              return { item, response };
            });
          const verdicts = await opened.judge(batch, signal);
          const judged = verdicts.map((verdict, index): VerdictLine => ({
            id: batch[index]!.item.id,
            verdict,
          }));
          await journal.append(judged);
          lines.push(...judged);
          heartbeat({ judged: lines.length });
        }
      } catch (error) {
        if (error instanceof SidecarFailed) await dependencies.suites.discard(opened);
        throw error;
      } finally {
        await journal.close();
      }
      return dependencies.store.putRecords(lines);
    });
}
