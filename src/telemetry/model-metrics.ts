import type { AdapterServer } from '../inference/adapter-server.ts';
import type { ChatClient } from '../inference/chat-client.ts';
import type { EmbeddingClient } from '../inference/embedding-client.ts';
import { promptTokens, sampledTokens } from '../inference/policy-client.ts';
import type { Completion, LogprobsRequest, PolicyClient } from '../inference/policy-client.ts';
import { errorLabel } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { traced } from './tracing.ts';

/** Clients of one server that record what they ask it. */
export interface ClientMeter {
  policy: (client: PolicyClient) => PolicyClient;
  chat: (client: ChatClient) => ChatClient;
  embedding: (client: EmbeddingClient) => EmbeddingClient;
  adapters: (server: AdapterServer) => AdapterServer;
}

type TokenCounts = Partial<Record<'prompt' | 'completion', number>>;

/**
 * Records requests to the server at an address, each in a span: outcome, time and tokens.
 * @param metrics undefined = nothing is counted
 */
export function meterClients(metrics: Metrics | undefined, baseUrl: string): ClientMeter {
  // Neither a path nor a user name of the address.
  const server = URL.canParse(baseUrl) ? new URL(baseUrl).host : 'invalid address';
  const measure = <Answer>(
    operation: string,
    signal: AbortSignal | undefined,
    request: () => Promise<Answer>,
    tokensOf: (answer: Answer) => TokenCounts = () => ({}),
  ): Promise<Answer> =>
    traced(`model server: ${operation}`, { 'server.address': server }, async (span) => {
      const end = metrics?.modelRequestSeconds.startTimer({ server, operation });
      metrics?.modelRequestsUnderWay.inc({ server });
      let outcome = 'ok';
      try {
        const answer = await request();
        for (const [kind, count] of Object.entries(tokensOf(answer))) {
          metrics?.modelTokens.inc({ server, kind }, count);
          span.setAttribute(`genenv.${kind}_tokens`, count);
        }
        return answer;
      } catch (error) {
        outcome = signal?.aborted === true ? 'aborted' : errorLabel(error);
        throw error;
      } finally {
        end?.();
        metrics?.modelRequestsUnderWay.dec({ server });
        metrics?.modelRequests.inc({ server, operation, outcome });
      }
    });
  return {
    policy: (client) => ({
      complete: (request, signal) =>
        measure('complete', signal, () => client.complete(request, signal), countTokens),
      ...(client.completionLogprobs && {
        completionLogprobs: (request: LogprobsRequest, signal: AbortSignal) =>
          measure('logprobs', signal, () => client.completionLogprobs!(request, signal)),
      }),
      tokenize: (model, text, signal) =>
        measure('tokenize', signal, () => client.tokenize(model, text, signal)),
      promptLength: (model, prompt, signal) =>
        measure('tokenize', signal, () => client.promptLength(model, prompt, signal)),
      contextLength: (model, signal) => measure('models', signal, () => client.contextLength(model, signal)),
    }),
    chat: (client) => ({
      answer: (request, signal) =>
        measure(
          'chat',
          signal,
          () => client.answer(request, signal),
          ({ tokens, promptTokens: read }) => ({
            completion: tokens,
            ...(read !== undefined && { prompt: read }),
          }),
        ),
    }),
    embedding: (client) => ({
      embed: (request, signal) =>
        measure(
          'embeddings',
          signal,
          () => client.embed(request, signal),
          ({ promptTokens: read }) => ({ prompt: read }),
        ),
    }),
    adapters: (adapters) => ({
      address: adapters.address,
      load: (...adapter) => measure('load', undefined, () => adapters.load(...adapter)),
      unload: (...adapter) => measure('unload', undefined, () => adapters.unload(...adapter)),
      likeliest: (...prompts) => measure('likeliest', undefined, () => adapters.likeliest(...prompts)),
      setAsleep: (isAsleep) => adapters.setAsleep(isAsleep),
    }),
  };
}

const countTokens = (completions: readonly Completion[]): Required<TokenCounts> => ({
  prompt: promptTokens(completions),
  completion: sampledTokens(completions),
});
