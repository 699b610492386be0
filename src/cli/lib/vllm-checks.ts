import { z } from 'zod';
import { modelFolder, modelPositions } from '../../config/model-folder.ts';
import type { VllmSettings } from '../../dev-stack/vllm-settings.ts';
import type { ModelCard } from '../../inference/model-cards.ts';
import { parseBody } from '../../inference/server-calls.ts';
import type { Call } from '../../inference/server-calls.ts';
import { serverRoot } from '../../inference/server-urls.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import {
  createQuestions,
  failedQuestion,
  findBaseModel,
  lengthCheck,
  longestTokens,
  structureCheck,
} from './server-questions.ts';
import type { LongestPrompt } from './server-questions.ts';
import { countText } from './text.ts';
import { checkVllmAdapters } from './vllm-adapter-check.ts';
import { checkVllmSampling, oneToken } from './vllm-sampling-checks.ts';

/** What a file needs of a vLLM. */
export interface VllmNeeds {
  settings: VllmSettings;
  prompts: LongestPrompt[];
  /** What the server is to hold the simulator to; undefined = nothing. */
  structure: object | undefined;
  /** The store, which the server is to read adapters from; undefined before the first run. */
  store: string | undefined;
  /** Whether the embedded stack has started it, with flags that are known. */
  isManaged: boolean;
}

/** Asks a server whether it has what a file needs, and says which flag is wrong. Never rejects. */
export async function checkVllm(
  address: string,
  apiKey: string | undefined,
  { settings, prompts, structure, store, isManaged }: VllmNeeds,
): Promise<Check[]> {
  const base = serverRoot(address);
  const call = createQuestions(base, apiKey);
  const checks: Check[] = [];
  try {
    const model = await findBaseModel(call, base, 'a vLLM, ending in /v1');
    if (!('id' in model)) return [model];
    checks.push(
      ok(base, `vLLM ${await versionOf(call)}, serves ${model.id}`),
      checkModel(model, settings),
      checkLength(model, settings, await longestTokens(call, model.id, prompts)),
      await checkVllmAdapters(call, settings.maxLoraRank, store),
      ...(await checkVllmSampling(call, model.id)),
      isManaged ? ok('Seeds', 'prompts are read whole: the stack starts it so') : await checkSeeds(call),
    );
    if (structure !== undefined)
      checks.push(structureCheck(await call('/v1/completions', { ...oneToken(model.id), ...structure })));
  } catch (error) {
    checks.push(failedQuestion(base, error));
  }
  return checks;
}

async function versionOf(call: Call): Promise<string> {
  const { status, text } = await call('/version', undefined);
  if (status !== 200) return 'of unknown version';
  return parseBody(z.object({ version: z.string() }), text, 'version').version;
}

/** A server elsewhere may have the same model in another folder: then only its name can be compared. */
function checkModel({ root }: ModelCard, { model }: VllmSettings): Check {
  const wanted = modelFolder(model);
  if (root === wanted) return ok('Base model', wanted);
  return note(
    'Base model',
    `${root ?? 'unknown'} on the server, ${wanted} here: they must be the same model`,
  );
}

function checkLength(
  { max_model_len: limit }: ModelCard,
  { maxModelLen, model }: VllmSettings,
  longest: { text: string; need: number },
): Check {
  const wanted = maxModelLen ?? modelPositions(modelFolder(model));
  const check = lengthCheck(limit, longest, '--max-model-len');
  if (check.state === 'ok' && wanted !== null && limit! < wanted)
    return missing(
      'Length',
      `${countText(limit!)} tokens; serving.maxModelLen is ${countText(wanted)}`,
      `start it with --max-model-len ${wanted}, or set serving.maxModelLen to ${limit}`,
    );
  return check;
}

/** Requests with a seed, on the processor build: read from the server's settings, since a try could end it. */
async function checkSeeds(call: Call): Promise<Check> {
  const { status, text: config } = await call('/server_info?config_format=json', undefined);
  const remedy =
    'start it with --no-enable-chunked-prefill and --max-num-batched-tokens of at least --max-model-len';
  if (status !== 200)
    return note(
      'Seeds',
      'the server does not say what it runs on: start it with VLLM_SERVER_DEV_MODE=1 to have this checked; ' +
        `if that is a processor, ${remedy}, or a request with a seed ends its engine`,
    );
  if (!/"device":\s*"cpu"/.test(config)) return ok('Seeds', 'no processor build');
  return /"enable_chunked_prefill":\s*true/.test(config)
    ? missing(
        'Seeds',
        'prompts are read in parts, and a request with a seed then kills the engine of the processor build',
        remedy,
      )
    : ok('Seeds', 'prompts are read whole');
}
