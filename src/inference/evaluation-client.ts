import { mapConcurrent } from '../async/map-concurrent.ts';
import type { Answer, Message, Question } from '../formats/chat-messages.ts';
import type { ChatClient } from './chat-client.ts';
import { PromptTooLong, RequestRefused } from './policy-client.ts';
import type { PolicyClient } from './policy-client.ts';

/** A policy behind a server, as an evaluation asks it. */
export interface EvaluationClient {
  /**
   * Answers in the order of the questions, each drawn by its own seed; all of them or none.
   * @throws as `PolicyServer.complete` does, but that a question too long for the policy has an answer that
   * says so
   */
  answer(questions: readonly { question: Question; seed: number }[], signal: AbortSignal): Promise<Answer[]>;
}

export interface PolicyUnderTest {
  model: string;
  temperature: number;
  maxTokens: number;
}

/** Questions under way at a time: servers limit the rate of requests. */
const concurrency = 16;
/** Seeds that every compatible server takes. */
const seeds = 2 ** 31;

const unreadable: Answer = { text: '', toolCalls: [], finish_reason: 'prompt_too_long', tokens: 0 };

async function unlessTooLong<Answered>(answer: Promise<Answered>): Promise<Answered | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof PromptTooLong) return undefined;
    throw error;
  }
}

/**
 * By chat completions, a request for each question: the model's own chat template, and tools where the server
 * takes them.
 * @param onAnswered told of each answer, since those of many questions take their time
 */
export function createChatEvaluationClient(
  server: ChatClient,
  policy: PolicyUnderTest,
  onAnswered: () => void = () => undefined,
): EvaluationClient {
  return {
    answer: (questions, signal) =>
      mapConcurrent(questions, concurrency, signal, async ({ question, seed }, stop) => {
        const asked = server.answer({ ...question, ...policy, seed: seed % seeds }, stop);
        const answer = (await unlessTooLong(asked)) ?? unreadable;
        onAnswered();
        return answer;
      }),
  };
}

/**
 * By completions, many questions a request, in ChatML. The batch is drawn by the seed of its first question.
 */
export function createCompletionsEvaluationClient(
  server: PolicyClient,
  policy: PolicyUnderTest,
): EvaluationClient {
  const complete = async (
    questions: readonly { question: Question; seed: number }[],
    signal: AbortSignal,
  ): Promise<Answer[]> => {
    const [first] = questions;
    const { model, temperature, maxTokens } = policy;
    const request = {
      model,
      temperature,
      maxTokens,
      prompts: questions.map(({ question }) => chatML(question)),
      n: 1,
      seed: first!.seed % seeds,
      stop: ['<|im_end|>', ...(first!.question.stop ?? [])],
    };
    const completions = await server.complete(request, signal);
    return completions.map(({ text, token_ids, finish_reason }) => ({
      text,
      toolCalls: [],
      finish_reason,
      tokens: token_ids.length,
    }));
  };
  return {
    async answer(questions, signal) {
      if (questions.length === 0) return [];
      const together = await unlessTooLong(complete(questions, signal));
      if (together !== undefined) return together;
      // One of them is too long for the policy; the others are not.
      const answers: Answer[] = [];
      for (const question of questions)
        answers.push(...((await unlessTooLong(complete([question], signal))) ?? [unreadable]));
      return answers;
    },
  };
}

/** @throws RequestRefused for tools, which completions cannot be given */
function chatML({ messages, tools }: Question): string {
  if (tools !== undefined)
    throw new RequestRefused(
      'toolFormat: got "native"; completions take no tools: expected "prompt", or a policy with `api: chat`',
    );
  return `${messages.map(({ role, content }: Message) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('')}<|im_start|>assistant\n`;
}
