/** Clients of the policy under evaluation: many questions at once, by chat completions or by completions. */
import { mapConcurrent } from '../async/map-concurrent.ts';
import type { Answer, Message, Question } from '../formats/chat-messages.ts';
import { breakControlTokens, breakControlTokensInJson } from '../formats/control-tokens.ts';
import { SEED_LIMIT } from './chat-client.ts';
import type { ChatClient } from './chat-client.ts';
import { PROMPT_TOO_LONG, RequestRefused } from './policy-client.ts';
import type { PolicyClient } from './policy-client.ts';
import { undefinedIfTooLong } from './prompt-too-long.ts';

/**
 * The client of the policy under evaluation. Messages hold what models and search endpoints wrote, so control
 * tokens in them are broken up: each would end its message, and speak for somebody else.
 */
export interface EvaluationClient {
  /**
   * Answers in the order of the questions, each sampled with its own seed; all of them or none. A question
   * too long for the policy has an answer that says so.
   * @throws as `PolicyClient.complete` does
   */
  answer(questions: readonly { question: Question; seed: number }[], signal: AbortSignal): Promise<Answer[]>;
}

export interface PolicyUnderTest {
  model: string;
  temperature: number;
  maxTokens: number;
}

/** Questions in flight at a time: servers limit the rate of requests. */
const CONCURRENCY = 16;

const TOO_LONG: Answer = { text: '', toolCalls: [], finish_reason: PROMPT_TOO_LONG, tokens: 0 };

/**
 * By chat completions, a request for each question: the model's own chat template, and tools if the server
 * takes them.
 * @param onAnswered called after each answer, since a batch of them takes long
 */
export function createChatEvaluationClient(
  client: ChatClient,
  policy: PolicyUnderTest,
  onAnswered: () => void = () => undefined,
): EvaluationClient {
  return {
    answer: (questions, signal) =>
      mapConcurrent(questions, CONCURRENCY, signal, async ({ question, seed }, stop) => {
        const messages = question.messages.map(withoutControlTokens);
        const request = { ...question, ...policy, messages, seed: seed % SEED_LIMIT };
        const answered = await undefinedIfTooLong(client.answer(request, stop));
        onAnswered();
        if (answered === undefined) return TOO_LONG;
        const { text, toolCalls, finish_reason, tokens } = answered;
        return { text, toolCalls, finish_reason, tokens };
      }),
  };
}

/** By completions, all questions with the same stop texts in one request, in ChatML, each with its own seed. */
export function createCompletionsEvaluationClient(
  client: PolicyClient,
  { model, temperature, maxTokens }: PolicyUnderTest,
): EvaluationClient {
  return {
    async answer(questions, signal) {
      const answers: Answer[] = [];
      const stops = questions.map(({ question }) => JSON.stringify(question.stop ?? []));
      for (const [stop, places] of Map.groupBy(stops.keys(), (at) => stops[at]!)) {
        const promptSeeds = places.map((at) => questions[at]!.seed % SEED_LIMIT);
        const request = {
          model,
          temperature,
          maxTokens,
          prompts: places.map((at) => chatML(questions[at]!.question)),
          n: 1,
          seed: promptSeeds[0]!,
          promptSeeds,
          stop: ['<|im_end|>', ...(JSON.parse(stop) as string[])],
        };
        for (const { prompt, text, token_ids, tokens, finish_reason } of await client.complete(
          request,
          signal,
        ))
          answers[places[prompt]!] = {
            text,
            toolCalls: [],
            finish_reason,
            tokens: tokens ?? token_ids.length,
          };
      }
      return answers;
    },
  };
}

/** @throws RequestRefused for tools, which completions cannot take */
function chatML({ messages, tools }: Question): string {
  if (tools !== undefined)
    throw new RequestRefused(
      'toolFormat: got "native"; completions take no tools: expected "prompt", or a policy with `api: chat`',
    );
  const turns = messages
    .map(withoutControlTokens)
    .map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`);
  return `${turns.join('')}<|im_start|>assistant\n`;
}

function withoutControlTokens(message: Message): Message {
  const content = breakControlTokens(message.content);
  if (message.role === 'tool')
    return { ...message, content, toolCallId: breakControlTokens(message.toolCallId) };
  if (message.role !== 'assistant' || message.toolCalls === undefined) return { ...message, content };
  const toolCalls = message.toolCalls.map((call) => ({
    id: breakControlTokens(call.id),
    name: breakControlTokens(call.name),
    arguments: breakControlTokensInJson(call.arguments),
  }));
  return { ...message, content, toolCalls };
}
