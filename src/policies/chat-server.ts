import OpenAI from 'openai';
import { z } from 'zod';
import { classify, responseFormat } from './openai-policy-server.ts';
import { InvalidAnswer, ModelUnavailable } from './policy-server.ts';

/** A question to a model that this project neither trains nor reads token ids of. */
export interface ChatRequest {
  model: string;
  messages: { role: 'system' | 'user'; content: string }[];
  seed: number;
  temperature: number;
  maxTokens: number;
  /** JSON Schema that the server holds the answer to. */
  schema?: Readonly<Record<string, unknown>>;
}

export interface ChatAnswer {
  text: string;
  /** Tokens sampled, as the server counts them; 0 where it does not. */
  tokens: number;
  /** `length` where the answer was cut off. */
  finish_reason: string;
}

export interface ChatServer {
  /** @throws as `PolicyServer.complete` does */
  answer(request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer>;
}

const answerSchema = z.object({ choices: z.tuple([z.object({ message: z.object({ content: z.string() }), finish_reason: z.string().nullish() })]), usage: z.object({ completion_tokens: z.int().min(0) }).nullish() });

/** Any server that speaks OpenAI's chat completions. It never retries by itself: the activity does. */
export function openAIChatServer({ baseUrl, apiKey, timeoutMs }: { baseUrl: string; apiKey: string | undefined; timeoutMs: number }): ChatServer {
  const client = new OpenAI({ baseURL: baseUrl, apiKey: apiKey ?? 'none', maxRetries: 0, timeout: timeoutMs });
  return {
    async answer({ model, messages, seed, temperature, maxTokens, schema }, signal) {
      // The client's own timeout ends with the head of the answer; this one covers its body too.
      const limit = AbortSignal.timeout(timeoutMs);
      try {
        // The names that every compatible server knows, though OpenAI's own has newer ones.
        const body = { model, messages, seed, temperature, max_tokens: maxTokens, ...responseFormat(schema) };
        const received = await client.chat.completions.create(body, { signal: AbortSignal.any([signal, limit]) });
        const parsed = answerSchema.safeParse(received);
        if (!parsed.success) throw new InvalidAnswer(`answer of ${model}: ${z.prettifyError(parsed.error)}`);
        const { choices, usage } = parsed.data;
        // Half of a surrogate pair, which JSON lets through, cannot be stored as UTF-8.
        return { text: Buffer.from(choices[0].message.content).toString(), tokens: usage?.completion_tokens ?? 0, finish_reason: choices[0].finish_reason ?? 'stop' };
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (limit.aborted) throw new ModelUnavailable(`${baseUrl} did not answer for ${model} in ${timeoutMs} ms`, { cause: error });
        throw classify(error, baseUrl, model);
      }
    },
  };
}
