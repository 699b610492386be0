/** Checks of an SGLang. Written from the documentation and the source of 0.5.23; never tried on one. */
import { z } from 'zod';
import { parseBody } from '../../inference/server-calls.ts';
import type { Call } from '../../inference/server-calls.ts';
import { serverRoot } from '../../inference/server-urls.ts';
import { plainSampling, sglangLogprob, structureParameters } from '../../inference/sglang-client.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import {
  createQuestions,
  failedQuestion,
  findBaseModel,
  lengthCheck,
  LOGPROB_TOLERANCE,
  logprobsCheck,
  longestTokens,
  structureCheck,
} from './server-questions.ts';
import type { LongestPrompt } from './server-questions.ts';

/** What a file needs of an SGLang. */
export interface SglangNeeds {
  /** Largest rank of the policies' adapters. */
  rank: number;
  prompts: LongestPrompt[];
  /** What the server is to hold the simulator to. */
  structure: Parameters<typeof structureParameters>[0];
}

/** The flags that it was started with, as far as they matter. */
const serverInfoSchema = z.object({
  version: z.string().optional(),
  enable_lora: z.boolean().nullable(),
  max_lora_rank: z.int().nullish(),
  enable_deterministic_inference: z.boolean().optional(),
});
type ServerInfo = z.infer<typeof serverInfoSchema>;

const sampledSchema = z.tuple([
  z.object({
    meta_info: z.object({ output_top_logprobs: z.tuple([z.tuple([sglangLogprob]).rest(z.unknown())]) }),
  }),
]);

/** Asks a server whether it has what a file needs, and says which flag is wrong. Never rejects. */
export async function checkSglang(
  address: string,
  apiKey: string | undefined,
  { rank, prompts, structure }: SglangNeeds,
): Promise<Check[]> {
  const base = serverRoot(address);
  const call = createQuestions(base, apiKey);
  const checks: Check[] = [];
  try {
    const model = await findBaseModel(call, base, 'an SGLang');
    if (!('id' in model)) return [model];
    const info = await serverInfo(call);
    if (info === undefined)
      return [missing(base, 'answered nothing to /server_info', 'name the address of an SGLang')];
    checks.push(
      ok(base, `SGLang ${info.version ?? 'of unknown version'}, serves ${model.id}`),
      lengthCheck(model.max_model_len, await longestTokens(call, model.id, prompts), '--context-length'),
      adapterCheck(info, rank),
      await sampledLogprobs(call),
      seedCheck(info),
    );
    const held = structureParameters(structure);
    if (Object.keys(held).length > 0) checks.push(structureCheck(await call('/generate', oneToken(1, held))));
  } catch (error) {
    checks.push(failedQuestion(base, error));
  }
  return checks;
}

/** Undefined if the server has no such endpoint, by its newer name or its older one. */
async function serverInfo(call: Call): Promise<ServerInfo | undefined> {
  for (const path of ['/server_info', '/get_server_info']) {
    const { status, text } = await call(path, undefined);
    if (status === 200) return parseBody(serverInfoSchema, text, path);
  }
  return undefined;
}

function adapterCheck({ enable_lora: isOn, max_lora_rank: maxRank }: ServerInfo, rank: number): Check {
  const flags = `--enable-lora --max-lora-rank ${rank} --lora-target-modules all`;
  if (isOn !== true) return missing('Adapters', 'LoRA is not enabled', `start it with ${flags}`);
  return (maxRank ?? rank) < rank
    ? missing('Adapters', `up to rank ${maxRank}; needed: ${rank}`, `start it with ${flags}`)
    : ok('Adapters', `can be loaded, up to rank ${maxRank ?? 'of those that it was started with'}`);
}

const oneToken = (temperature: number, parameters: object = {}): object => ({
  text: ['The'],
  sampling_params: { ...plainSampling, temperature, max_new_tokens: 1, ...parameters },
});

async function sampledLogprobs(call: Call): Promise<Check> {
  const top = async (temperature: number): Promise<number> => {
    const { text } = await call('/generate', {
      ...oneToken(temperature),
      return_logprob: true,
      top_logprobs_num: 1,
    });
    const [{ meta_info: meta }] = parseBody(sampledSchema, text, 'sampled token');
    return meta.output_top_logprobs[0][0][0];
  };
  const [cold, hot] = [await top(0.5), await top(2)];
  return logprobsCheck(
    cold > hot + LOGPROB_TOLERANCE,
    'start it without SGLANG_RETURN_ORIGINAL_LOGPROB in its environment',
  );
}

const seedCheck = ({ enable_deterministic_inference: isOn }: ServerInfo): Check =>
  isOn === true
    ? ok('Seeds', 'are followed')
    : note(
        'Seeds',
        'are not looked at: a run that is repeated has other samples',
        'start it with --enable-deterministic-inference if that matters',
      );
