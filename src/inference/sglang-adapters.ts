/** Adapters on SGLang: `--enable-lora --max-lora-rank R --lora-target-modules all`. */
import { z } from 'zod';
import { AdapterNotLoaded } from './adapter-server.ts';
import type { AdapterServer } from './adapter-server.ts';
import { listOf } from './answer-schemas.ts';
import { shortReason } from './outage-reason.ts';
import { InvalidAnswer, ModelNotServed, RequestRefused } from './policy-client.ts';
import { createCaller, failureOf, parseBody } from './server-calls.ts';
import type { ServerAddress } from './server-urls.ts';
import { serverRoot } from './server-urls.ts';
import { plainSampling, sglangLogprob } from './sglang-client.ts';

/** Tokens that are asked for at each place: more than a canary has. */
const LIKELIEST = 10;

const likeliestTokens = listOf(sglangLogprob).refine(({ length }) => length > 0, 'expected a token');
const answerSchema = listOf(
  z.object({ meta_info: z.object({ output_top_logprobs: z.tuple([likeliestTokens]) }) }),
);

/** What no other try changes: no adapters at all, another shape than the server has room for, no such folder. */
const isLasting = (text: string): boolean =>
  /LoRA is not enabled|--max-lora-rank|add tokens to the vocabulary|DoRA|Repo id must/i.test(text);

export function createSglangAdapters(server: ServerAddress): AdapterServer {
  const root = serverRoot(server.baseUrl);
  const call = createCaller({ ...server, baseUrl: root });
  /** SGLang answers 400 to everything that it does not do. */
  const isRefused = (status: number): boolean => status >= 400 && status < 500 && status !== 400;
  const unload = async (name: string): Promise<void> => {
    const path = '/unload_lora_adapter';
    const { status, text } = await call(path, { lora_name: name });
    if (status === 200 || (status === 400 && text.includes('does not exist'))) return;
    throw failureOf(root, status, `${root}${path} answered ${status} for ${name}: ${text}`);
  };
  return {
    address: server.baseUrl,
    async load(name, folder) {
      const path = '/load_lora_adapter';
      const body = { lora_name: name, lora_path: folder };
      let { status, text } = await call(path, body);
      if (text.includes('incomplete unload')) {
        await unload(name);
        ({ status, text } = await call(path, body));
      }
      if (status === 200 || (status === 400 && text.includes('already loaded'))) return;
      const message = `${root}${path} answered ${status} for ${name}: ${text}`;
      if (isRefused(status) || isLasting(text)) throw new RequestRefused(message);
      throw new AdapterNotLoaded(message, { server: root, reason: shortReason(message) });
    },
    unload,
    setAsleep() {
      // It has no way to say whether it sleeps, and ends itself when it is told twice.
      return Promise.reject(new RequestRefused(`${root}: SGLang is not put to sleep`));
    },
    async likeliest(model, prompts) {
      const { status, text } = await call('/generate', {
        input_ids: prompts,
        sampling_params: { ...plainSampling, temperature: 1, max_new_tokens: 1 },
        lora_path: model,
        return_logprob: true,
        top_logprobs_num: LIKELIEST,
      });
      const message = `${root}/generate answered ${status} for ${model ?? 'the base model'}: ${text}`;
      if (status === 400 && text.includes('LoRA adapter'))
        throw new ModelNotServed(message, { server: root });
      if (status !== 200) throw failureOf(root, status, message);
      const what = `answer of ${model ?? 'the base model'}`;
      const answers = parseBody(answerSchema, text, what);
      if (answers.length !== prompts.length)
        throw new InvalidAnswer(`${what}: got ${answers.length} answers; expected ${prompts.length}`);
      return answers.map(
        ({
          meta_info: {
            output_top_logprobs: [top],
          },
        }) => new Map(top.map(([logprob, token]) => [token, logprob])),
      );
    },
  };
}
