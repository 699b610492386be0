import type { CaseVerdict, OpenSuite } from '../../benchmarks/suite.ts';
import { answerText, questionText } from '../../evaluation/answer-text.ts';
import type { ReadySuite, ShardRecord } from '../../types/evaluation-inputs.ts';
import type { AnswerRecord, CaseLine } from '../../types/evaluation-types.ts';
import { isObject } from '../../validation/json-schema.ts';
import type { Dependencies } from '../dependencies.ts';
import type { VerdictLine } from './judge-cases.ts';

type Texts = Pick<CaseLine, 'question' | 'answer'>;

/** The lines of `cases.jsonl` of a suite, in the order of its verdicts. @throws InvalidArtifact for a damaged record */
export async function caseLines(
  { store }: Dependencies,
  suite: Pick<ReadySuite, 'name'>,
  opened: OpenSuite,
  { shards, verdicts }: { shards: readonly ShardRecord[]; verdicts: readonly VerdictLine[] },
): Promise<CaseLine[]> {
  const texts = new Map<string, Texts>();
  for (const { answered } of shards)
    for await (const { id, response, question } of store.records<AnswerRecord>(answered.answers))
      texts.set(id, { ...(question && { question: questionText(question) }), answer: answerText(response) });
  const golds = new Map(opened.cases.map((item) => [item.id, opened.gold(item)]));
  return verdicts.map(({ id, verdict: { correct, scores, reason, detail } }) => {
    const gold = golds.get(id);
    return {
      ...{ suite: suite.name, id, correct, scores, reason },
      ...(hasConversion(detail) && { converted: true as const }),
      ...(texts.get(id) ?? { answer: '' }),
      ...(gold !== undefined && { gold: answerText(gold) }),
    };
  });
}

/** Whether a suite says that it converted the answer, or that of a turn. */
const hasConversion = (detail: CaseVerdict['detail']): boolean =>
  Array.isArray(detail) ? detail.some(hasConversion) : isObject(detail) && detail.converted === true;
