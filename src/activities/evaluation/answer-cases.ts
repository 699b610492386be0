import { join } from 'node:path';
import { SidecarFailed } from '../../benchmarks/suite.ts';
import type { OpenSuite } from '../../benchmarks/suite.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import type { ServingSettings } from '../../config/policies.ts';
import { runInLockstep } from '../../evaluation/lockstep.ts';
import type { PendingQuestion } from '../../evaluation/lockstep.ts';
import type { Answer, Question } from '../../formats/chat-messages.ts';
import {
  createChatEvaluationClient,
  createCompletionsEvaluationClient,
} from '../../inference/evaluation-client.ts';
import type { EvaluationClient } from '../../inference/evaluation-client.ts';
import { ModelNotServed } from '../../inference/policy-client.ts';
import { ensurePolicyServed } from '../../inference/publish.ts';
import { deriveSeed } from '../../numerics/random.ts';
import { runOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { hashOf, sha256 } from '../../store/canonical-json.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import { Journal } from '../../store/journal.ts';
import type { Answered, AnswerInput, AnswerRecord, EvaluatedPolicy } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { casesOf, plannedSuite, readRecord, shardKey } from './evaluation-inputs.ts';
import type { EvaluationRecord } from './evaluation-inputs.ts';

/**
 * Puts the cases of a shard to the policy, and keeps what will be judged. Every batch of answers is on disk
 * before the next is asked, and so is the result of every search and every word of the judge: a retry asks
 * only what is missing.
 */
export function createAnswerCases(dependencies: Dependencies) {
  return (input: AnswerInput): Promise<Answered> =>
    runOnce(dependencies, shardKey('answer', input), async (work) => {
      const record = await readRecord(dependencies, input.evaluation);
      const { suite, opened } = await plannedSuite(dependencies, record.evaluation, input.suite);
      const cases = casesOf(opened, record.evaluation).slice(input.from, input.to);
      const count: Counts = { prompts: null, questions: 0, tokens: 0, cutOff: 0, tooLong: 0 };
      if (record.policy.type === 'gold')
        return {
          answers: await dependencies.store.putRecords(
            cases.map((item): AnswerRecord => ({ id: item.id, response: opened.gold(item) })),
          ),
          ...count,
        };
      if (opened.cannotAsk !== undefined)
        throw new InvalidConfig(
          `evaluation: ${suite.name} cannot be asked on this worker: ${opened.cannotAsk}`,
        );
      try {
        const answers = await dependencies.store.putRecords(
          answered(
            dependencies,
            { ...record, policy: record.policy },
            opened,
            cases,
            suite.name,
            work,
            count,
          ),
        );
        return { answers, ...count };
      } catch (error) {
        if (error instanceof SidecarFailed) await dependencies.suites.discard(opened);
        throw error;
      }
    });
}

type Counts = Omit<Answered, 'answers'>;
type Batch = { asked: string; answers: Answer[] };
type Effect = { of: string; value: unknown };

async function* answered(
  dependencies: Dependencies,
  { evaluation, policy }: EvaluationRecord & { policy: Parameters<typeof questionServerOf>[1] },
  opened: OpenSuite,
  cases: OpenSuite['cases'],
  name: string,
  work: Phase['work'],
  count: Counts,
): AsyncGenerator<AnswerRecord> {
  const { signal, heartbeat } = dependencies.activityContext();
  const server = questionServerOf(dependencies, policy, evaluation);
  const folder = await work();
  const claim = await folder.claim();
  const options = { onDamage: dependencies.onDamage, assertCurrent: () => claim.assertCurrent() };
  const batches = await Journal.open<Batch>(join(folder.path, 'answers.jsonl'), options);
  const effects = await Journal.open<Effect>(join(folder.path, 'effects.jsonl'), options);
  const known = new Map(effects.entries.map(({ of, value }) => [of, value]));
  const seedOf = (kind: string, id: string, step: number): number =>
    deriveSeed(evaluation.seed, name, kind, id, step);

  const prompts = new Map<string, Question>();
  const answer = async (asked: readonly PendingQuestion[]): Promise<Answer[]> => {
    const hash = hashOf(asked);
    const before = batches.entries.shift();
    if (before !== undefined && before.asked !== hash)
      throw new InvalidArtifact(
        batches.path,
        'its next batch is of other questions than are asked now',
        {},
        'The suite has changed under the evaluation: remove the file, or start the evaluation under another id.',
      );
    const answers =
      before?.answers ??
      (await server.answer(
        asked.map(({ id, step, question }) => ({ question, seed: seedOf('answer', id, step) })),
        signal,
      ));
    if (before === undefined) await batches.append({ asked: hash, answers });
    count.prompts = sha256(`${count.prompts ?? ''}${hash}`);
    for (const { id, step, question } of asked) if (step === 0) prompts.set(id, question);
    for (const { tokens, finish_reason: reason } of answers) {
      count.questions += 1;
      count.tokens += tokens;
      if (reason === 'length') count.cutOff += 1;
      if (reason === 'prompt_too_long') count.tooLong += 1;
    }
    heartbeat({ questions: count.questions });
    return answers;
  };
  const kept = async <Result>(of: string, run: () => Promise<Result>): Promise<Result> => {
    if (known.has(of)) return known.get(of) as Result;
    const value = await run();
    await effects.append({ of, value });
    heartbeat({ effect: of });
    return value;
  };
  const { judge: judgedBy, requestTimeoutSeconds } = evaluation;
  const judges =
    judgedBy &&
    createChatEvaluationClient(dependencies.chatClient(judgedBy, requestTimeoutSeconds * 1000), {
      model: judgedBy.model,
      temperature: 0,
      maxTokens: 512,
    });
  try {
    const size = evaluation.questionsPerRequest;
    for (let from = 0; from < cases.length; from += size) {
      const side = cases.slice(from, from + size);
      const responses = await runInLockstep(side, (item, tools) => opened.attempt(item, tools), {
        answer,
        judge:
          judges &&
          ((id, step, question) =>
            kept(
              `${id}/judge/${step}`,
              async () => (await judges.answer([{ question, seed: seedOf('judge', id, step) }], signal))[0]!,
            )),
        once: (id, step, run) => kept(`${id}/once/${step}`, () => run(signal)),
        signal,
      });
      for (const [index, response] of responses.entries()) {
        const { id } = side[index]!;
        const question = prompts.get(id);
        yield { id, response, ...(question && { question }) };
      }
      prompts.clear();
    }
  } finally {
    await batches.close();
    await effects.close();
  }
}

/**
 * Where the evaluated policy is asked. A run's agent that its server does not know, or has forgotten, is
 * given to it.
 */
export function questionServerOf(
  dependencies: Dependencies,
  policy: Exclude<EvaluatedPolicy, { type: 'gold' }>,
  { temperature, maxTokens, requestTimeoutSeconds }: Evaluation,
): EvaluationClient {
  const serving = servingOf(policy);
  const asked = { model: policy.type === 'run' ? policy.version.name : policy.model, temperature, maxTokens };
  const timeoutMs = requestTimeoutSeconds * 1000;
  let answered = 0;
  const beat = (): void => dependencies.activityContext().heartbeat({ answered: ++answered });
  const server =
    policy.api === 'chat'
      ? createChatEvaluationClient(
          dependencies.chatClient(serving.type === 'embedded' ? null : serving, timeoutMs),
          asked,
          beat,
        )
      : createCompletionsEvaluationClient(dependencies.policyClient(serving, timeoutMs), asked);
  if (policy.type !== 'run') return server;
  return {
    async answer(questions, signal) {
      try {
        return await server.answer(questions, signal);
      } catch (error) {
        if (
          !(error instanceof ModelNotServed) ||
          !(await ensurePolicyServed(dependencies, serving, policy.version))
        )
          throw error;
        return server.answer(questions, signal);
      }
    },
  };
}

function servingOf(policy: Exclude<EvaluatedPolicy, { type: 'gold' }>): ServingSettings {
  if (policy.type === 'run') return policy.serving;
  const { baseUrl, apiKeyEnv } = policy;
  return { type: 'openai', baseUrl, apiKeyEnv, publish: 'none', returnsTokenIds: false, models: null };
}
