import type { OpenSuite } from '../../benchmarks/suite.ts';
import type { Evaluation } from '../../config/evaluation.ts';
import { isEvaluationOfEpoch } from '../../evaluation/evaluation-id.ts';
import { runInLockstep } from '../../evaluation/lockstep.ts';
import type { LockstepOptions, PendingQuestion } from '../../evaluation/lockstep.ts';
import type { Answer, Question } from '../../formats/chat-messages.ts';
import { createChatEvaluationClient } from '../../inference/evaluation-client.ts';
import { wakeServers } from '../../inference/sleeping-servers.ts';
import { deriveSeed } from '../../numerics/random.ts';
import { JournaledClient } from '../../rollouts/journaled-client.ts';
import { runOnce } from '../../runtime/run-once.ts';
import type { Phase } from '../../runtime/run-once.ts';
import { hashOf, sha256 } from '../../store/canonical-json.ts';
import { InvalidArtifact } from '../../store/errors.ts';
import type { Journal } from '../../store/journal.ts';
import type { AnswerInput, Answered } from '../../types/evaluation-inputs.ts';
import type { AnswerRecord } from '../../types/evaluation-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';
import { createClientUnderTest } from './client-under-test.ts';
import type { ServedPolicy } from './client-under-test.ts';
import { casesOf, readRecord, shardKey, withPlannedSuite } from './evaluation-inputs.ts';

/**
 * Runs the policy on the cases of a shard, and keeps what will be judged. Every batch of answers is on disk
 * before the next one is requested, and so is the result of every search and every answer of the judge: a
 * retry requests only what is missing.
 */
export function createAnswerCases(dependencies: Dependencies) {
  return async (input: AnswerInput): Promise<Answered> => {
    const { evaluation, policy } = await readRecord(dependencies, input);
    const { name } = input.suite;
    return runOnce(dependencies, shardKey('answer', input), (work) =>
      withPlannedSuite(dependencies, evaluation, input.suite, async (opened) => {
        const cases = casesOf(opened, evaluation).slice(input.from, input.to);
        if (policy.type === 'gold') {
          const records = cases.map((item): AnswerRecord => ({ id: item.id, response: opened.gold(item) }));
          return { answers: await dependencies.store.putRecords(records), ...emptyCounts() };
        }
        if (opened.cannotAsk !== undefined)
          throw new InvalidConfig(`evaluation: ${name} cannot be asked on this worker: ${opened.cannotAsk}`);
        // Left asleep by a run that was ended while it trained. Another evaluation must not wake it beside a job.
        if (policy.type === 'run' && isEvaluationOfEpoch(input.id, policy))
          await wakeServers(dependencies, policy.serving);
        await using session = await AnswerSession.open(dependencies, work, {
          evaluation,
          policy,
          suite: name,
        });
        const answers = await dependencies.store.putRecords(answerCases(session, opened, cases));
        return { answers, ...session.counts };
      }),
    );
  };
}

/** Cases in lockstep, so many at a time as the policy gets in one request. */
async function* answerCases(
  session: AnswerSession,
  opened: OpenSuite,
  cases: OpenSuite['cases'],
): AsyncGenerator<AnswerRecord> {
  const size = session.evaluation.questionsPerRequest;
  for (let from = 0; from < cases.length; from += size) {
    const batch = cases.slice(from, from + size);
    const prompts = new Map<string, Question>();
    const responses = await runInLockstep(batch, (item, tools) => opened.attempt(item, tools), {
      answer: (questions) => {
        for (const { id, step, question } of questions) if (step === 0) prompts.set(id, question);
        return session.answer(questions);
      },
      judge: session.judge,
      once: (id, step, run) => session.once(`${id}/once/${step}`, () => run(session.signal)),
      signal: session.signal,
    });
    for (const [index, response] of responses.entries()) {
      const { id } = batch[index]!;
      const question = prompts.get(id);
      yield { id, response, ...(question && { question }) };
    }
  }
}

type Counts = Omit<Answered, 'answers'>;
/* eslint-disable id-denylist -- names of fields on disk */
/** A line of `answers.jsonl`: `asked` is the hash of the questions. */
type AnswerBatch = { asked: string; answers: Answer[] };
const answerBatch = (questions: readonly PendingQuestion[], answers: Answer[]): AnswerBatch => ({
  asked: hashOf(questions),
  answers,
});
/** A line of `effects.jsonl`: the key of the effect, and its result. */
type Effect = { of: string; value: unknown };
const effectEntry = (key: string, value: unknown): Effect => ({ of: key, value });
/* eslint-enable id-denylist */

const emptyCounts = (): Counts => ({ prompts: null, questions: 0, tokens: 0, cutOff: 0, tooLong: 0 });

/**
 * The policy and the judge during one shard. Batches of questions come one after another, so a
 * `JournaledClient` records their answers. Searches and answers of the judge come in no fixed order, since
 * the cases of a batch run at the same time: their journal is read by key instead.
 */
class AnswerSession implements AsyncDisposable {
  readonly counts = emptyCounts();
  readonly evaluation: Evaluation;
  readonly signal: AbortSignal;
  /** The suite's judge; null in an evaluation that has none. */
  readonly judge: LockstepOptions['judge'];
  readonly #suite: string;
  readonly #heartbeat: (details: unknown) => void;
  readonly #client: JournaledClient<readonly PendingQuestion[], AnswerBatch>;
  readonly #effects: Journal<Effect>;
  readonly #recordedEffects: ReadonlyMap<string, unknown>;
  /** Of all answers so far: an effect belongs to those that led to it. */
  #answersHash = '';

  private constructor(
    dependencies: Dependencies,
    { evaluation, suite }: SessionOptions,
    client: JournaledClient<readonly PendingQuestion[], AnswerBatch>,
    effects: Journal<Effect>,
  ) {
    const { signal, heartbeat } = dependencies.activityContext();
    this.evaluation = evaluation;
    this.signal = signal;
    this.#suite = suite;
    this.#heartbeat = heartbeat;
    this.#client = client;
    this.#effects = effects;
    this.#recordedEffects = new Map(effects.entries.map((effect) => [effect.of, effect.value]));
    this.judge = this.#createJudge(dependencies);
  }

  static async open(
    dependencies: Dependencies,
    work: Phase['work'],
    options: SessionOptions,
  ): Promise<AnswerSession> {
    const { evaluation, policy, suite } = options;
    const policyClient = createClientUnderTest(dependencies, policy, evaluation);
    const client = await JournaledClient.open<readonly PendingQuestion[], AnswerBatch>(dependencies, work, {
      responses: 'answers.jsonl',
      send: async (questions, signal) => {
        const seeded = questions.map(({ id, step, question }) => ({
          question,
          seed: deriveSeed(evaluation.seed, suite, 'answer', id, step),
        }));
        return answerBatch(questions, await policyClient.answer(seeded, signal));
      },
    });
    const effects = await client.openJournal<Effect>('effects.jsonl');
    return new AnswerSession(dependencies, options, client, effects);
  }

  /** @throws InvalidArtifact if the recorded answers are those of other questions */
  async answer(questions: readonly PendingQuestion[]): Promise<Answer[]> {
    const { counts } = this;
    const hash = hashOf(questions);
    const batch = await this.#client.complete(questions);
    if (batch.asked !== hash)
      throw new InvalidArtifact(
        this.#client.path,
        'its next batch is of other questions than are asked now',
        {},
        'The suite has changed under the evaluation: ' +
          'remove the file, or start the evaluation under another id.',
      );
    counts.prompts = sha256(`${counts.prompts ?? ''}${hash}`);
    this.#answersHash = sha256(`${this.#answersHash}${hash}${hashOf(batch.answers)}`);
    for (const { tokens, finish_reason: reason } of batch.answers) {
      counts.questions += 1;
      counts.tokens += tokens;
      if (reason === 'length') counts.cutOff += 1;
      if (reason === 'prompt_too_long') counts.tooLong += 1;
    }
    this.#heartbeat({ questions: counts.questions });
    return batch.answers;
  }

  /** The recorded result of an effect, or that of running it. No batch is answered while one is under way. */
  async once<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
    const key = `${name}/${this.#answersHash}`;
    if (this.#recordedEffects.has(key)) return this.#recordedEffects.get(key) as Result;
    const value = await run();
    await this.#effects.append(effectEntry(key, value));
    this.#heartbeat({ effect: key });
    return value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }

  #createJudge(dependencies: Dependencies): LockstepOptions['judge'] {
    const { judge, seed, requestTimeoutSeconds } = this.evaluation;
    if (judge === null) return null;
    const client = createChatEvaluationClient(dependencies.chatClient(judge, requestTimeoutSeconds * 1000), {
      model: judge.model,
      temperature: 0,
      maxTokens: 512,
    });
    return (id, step, question) =>
      this.once(`${id}/judge/${step}`, async () => {
        const seeded = { question, seed: deriveSeed(seed, this.#suite, 'judge', id, step) };
        const [answer] = await client.answer([seeded], this.signal);
        return answer!;
      });
  }
}

interface SessionOptions {
  evaluation: Evaluation;
  policy: ServedPolicy;
  suite: string;
}
