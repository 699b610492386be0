/** Adapters on vLLM: `VLLM_ALLOW_RUNTIME_LORA_UPDATING=True`, `--enable-lora`. */
import { z } from 'zod';
import { AdapterNotLoaded } from './adapter-server.ts';
import type { AdapterServer, TokenLogprobs } from './adapter-server.ts';
import { listOf, recordOf } from './answer-schemas.ts';
import { askBaseModel } from './model-cards.ts';
import { shortReason } from './outage-reason.ts';
import { InvalidAnswer, ModelNotServed, RequestRefused } from './policy-client.ts';
import { createCaller, failureOf, parseBody } from './server-calls.ts';
import type { ServerAddress } from './server-urls.ts';
import { serverRoot } from './server-urls.ts';

/** Tokens that are asked for at each place: more than a canary has, and less than `--max-logprobs` allows. */
const LIKELIEST = 10;

const answerSchema = z.object({
  choices: listOf(z.object({ logprobs: z.object({ top_logprobs: z.tuple([recordOf(z.number())]) }) })),
});

/** @param server its address with `/v1` */
export function createVllmAdapters(server: ServerAddress): AdapterServer {
  const { baseUrl } = server;
  const call = createCaller(server);
  const adapterCall = (path: string, name: string, body: object) =>
    call(path, body).then(({ status, text }) => {
      if (status === 404 && !/cannot be found|no adapter found/i.test(text))
        throw new RequestRefused(
          `${baseUrl}${path} answered 404 for ${name}: vLLM takes no adapters while it runs; start it with ` +
            '--enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True',
        );
      return { status, text };
    });
  return {
    address: baseUrl,
    async load(name, folder) {
      const path = '/load_lora_adapter';
      const { status, text } = await adapterCall(path, name, { lora_name: name, lora_path: folder });
      if (status === 200 || (status === 400 && /already (been )?loaded/i.test(text))) return;
      const message = `${baseUrl}${path} answered ${status} for ${name}: ${text}`;
      // What no other try changes: too small a rank, or a folder that the server does not see.
      if (status < 500 || text.includes('max_lora_rank')) throw new RequestRefused(message);
      throw new AdapterNotLoaded(message, { server: baseUrl, reason: shortReason(message) });
    },
    async unload(name) {
      const path = '/unload_lora_adapter';
      const { status, text } = await adapterCall(path, name, { lora_name: name });
      if (status === 200 || status === 404) return;
      throw failureOf(baseUrl, status, `${baseUrl}${path} answered ${status} for ${name}: ${text}`);
    },
    async likeliest(model, prompts) {
      const name = model ?? (await askBaseModel(baseUrl, call)).id;
      // Never `prompt_logprobs`: those of an adapter kill the engine of 0.32 beside another request.
      const { status, text } = await call('/completions', {
        model: name,
        prompt: prompts,
        max_tokens: 1,
        temperature: 1,
        logprobs: LIKELIEST,
        return_tokens_as_token_ids: true,
      });
      const message = `${baseUrl}/completions answered ${status} for ${name}: ${text}`;
      if (status === 404) throw new ModelNotServed(message, { server: baseUrl });
      if (status !== 200) throw failureOf(baseUrl, status, message);
      const { choices } = parseBody(answerSchema, text, `answer of ${name}`);
      if (
        choices.length !== prompts.length ||
        choices.some(({ logprobs: { top_logprobs } }) => isEmpty(top_logprobs[0]))
      )
        throw new InvalidAnswer(
          `answer of ${name}: got ${choices.length} choices; expected ${prompts.length}, each with log-probabilities`,
        );
      return choices.map(({ logprobs }) => tokenLogprobs(logprobs.top_logprobs[0]));
    },
    async setAsleep(isAsleep) {
      const root = serverRoot(baseUrl);
      const callRoot = createCaller({ ...server, baseUrl: root });
      const answered = async (path: string, body?: object): Promise<string> => {
        const { status, text } = await callRoot(path, body);
        if (status === 200) return text;
        const remedy = status === 404 ? '; start it with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1' : '';
        throw failureOf(root, status, `${root}${path} answered ${status}: ${text}${remedy}`);
      };
      const { is_sleeping } = parseBody(
        z.object({ is_sleeping: z.boolean() }),
        await answered('/is_sleeping'),
        `state of ${root}`,
      );
      if (is_sleeping === isAsleep) return;
      // Level 1 keeps the weights in the machine's memory; at level 2 adapters have been lost. By itself vLLM aborts
      // what others have under way.
      await answered(isAsleep ? '/sleep?level=1&mode=wait' : '/wake_up', {});
    },
  };
}

const isEmpty = (top: object): boolean => Object.keys(top).length === 0;

/** With `return_tokens_as_token_ids` a token is `token_id:7`. */
function tokenLogprobs(top: Readonly<Record<string, number>>): TokenLogprobs {
  return new Map(Object.entries(top).map(([token, logprob]) => [Number(token.split(':')[1]), logprob]));
}
