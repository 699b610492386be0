/** Checks of an SGLang. Written from the documentation and the source of 0.5.23; never tried on one. */
import { plainSampling, structureParameters } from '../../inference/sglang-client.ts';
import { isObject } from '../../validation/json-schema.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import {
  createAsk,
  findBaseModel,
  lengthCheck,
  LOGPROB_TOLERANCE,
  logprobsCheck,
  longestTokens,
  structureCheck,
  unreachable,
} from './server-questions.ts';
import type { Ask, LongestPrompt } from './server-questions.ts';

/** What a file needs of an SGLang. */
export interface SglangNeeds {
  /** Largest rank of the policies' adapters. */
  rank: number;
  prompts: LongestPrompt[];
  /** What the server is to hold the simulator to. */
  structure: Parameters<typeof structureParameters>[0];
}

/** The flags that it was started with, as far as they matter. */
interface ServerInfo {
  version?: string;
  enable_lora?: boolean | null;
  max_lora_rank?: number | null;
  enable_deterministic_inference?: boolean;
}

/** Asks a server whether it has what a file needs, and says which flag is wrong. Never rejects. */
export async function checkSglang(
  address: string,
  apiKey: string | undefined,
  { rank, prompts, structure }: SglangNeeds,
): Promise<Check[]> {
  const base = new URL(address).origin;
  const ask = createAsk(base, apiKey);
  const checks: Check[] = [];
  try {
    const model = await findBaseModel(ask, base, 'an SGLang');
    if (!('id' in model)) return [model];
    const info = await serverInfo(ask);
    if (info === undefined)
      return [missing(base, 'answered nothing to /server_info', 'name the address of an SGLang')];
    checks.push(
      ok(base, `SGLang ${info.version ?? 'of unknown version'}, serves ${model.id}`),
      lengthCheck(model.max_model_len, await longestTokens(ask, model.id, prompts), '--context-length'),
      adapterCheck(info, rank),
      await sampledLogprobs(ask),
      seedCheck(info),
    );
    const held = structureParameters(structure);
    if (Object.keys(held).length > 0) checks.push(structureCheck(await ask('/generate', oneToken(1, held))));
  } catch (error) {
    checks.push(unreachable(base, error));
  }
  return checks;
}

/** Undefined if the server has no such endpoint, by its newer name or its older one. */
async function serverInfo(ask: Ask): Promise<ServerInfo | undefined> {
  for (const path of ['/server_info', '/get_server_info']) {
    const { status, json } = await ask(path);
    if (status === 200 && isObject(json) && 'enable_lora' in json) return json;
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

async function sampledLogprobs(ask: Ask): Promise<Check> {
  const top = async (temperature: number): Promise<number> => {
    const { json, text } = await ask('/generate', {
      ...oneToken(temperature),
      return_logprob: true,
      top_logprobs_num: 1,
    });
    const answer = json as { meta_info?: { output_top_logprobs?: [number, number][][] } }[] | undefined;
    const logprob = answer?.[0]?.meta_info?.output_top_logprobs?.[0]?.[0]?.[0];
    if (logprob === undefined) throw new Error(`a completion was answered by ${text.slice(0, 200)}`);
    return logprob;
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
