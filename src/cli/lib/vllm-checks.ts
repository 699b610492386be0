import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelFolder, modelPositions } from '../../config/model-folder.ts';
import type { VllmSettings } from '../../dev-stack/vllm-settings.ts';
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
import type { Ask, LongestPrompt, ModelCard } from './server-questions.ts';
import { countText } from './text.ts';

/** What a file needs of a vLLM. */
export interface VllmNeeds {
  settings: VllmSettings;
  prompts: LongestPrompt[];
  /** What the server is to hold the simulator to; undefined = nothing. */
  structure: object | undefined;
  /** A folder that the server can read too, if it shares the store. */
  shared: string;
  /** Whether the embedded stack has started it, with flags that are known. */
  isManaged: boolean;
}

/** Asks a server whether it has what a file needs, and says which flag is wrong. Never rejects. */
export class VllmChecks {
  readonly #base: string;
  readonly #ask: Ask;
  readonly #needs: VllmNeeds;

  constructor(address: string, apiKey: string | undefined, needs: VllmNeeds) {
    this.#base = address.replace(/\/v1\/?$/, '');
    this.#ask = createAsk(this.#base, apiKey);
    this.#needs = needs;
  }

  async run(): Promise<Check[]> {
    const checks: Check[] = [];
    try {
      const base = await findBaseModel(this.#ask, this.#base, 'a vLLM, ending in /v1');
      if (!('id' in base)) return [base];
      checks.push(await this.#reachable(base), this.#model(base), await this.#length(base));
      checks.push(await this.#adapters());
      checks.push(...(await this.#sampling(base.id)), await this.#seeds());
      if (this.#needs.structure !== undefined) checks.push(await this.#structuredOutput(base.id));
    } catch (error) {
      checks.push(unreachable(this.#base, error));
    }
    return checks;
  }

  async #reachable(base: ModelCard): Promise<Check> {
    const { json } = await this.#ask('/version');
    const version = (json as { version?: string } | undefined)?.version ?? 'of unknown version';
    return ok(this.#base, `vLLM ${version}, serves ${base.id}`);
  }

  /** A server elsewhere may have the same model in another folder: then only its name can be compared. */
  #model({ root }: ModelCard): Check {
    const wanted = modelFolder(this.#needs.settings.model);
    if (root === wanted) return ok('Base model', wanted);
    return note(
      'Base model',
      `${root ?? 'unknown'} on the server, ${wanted} here: they must be the same model`,
    );
  }

  async #length({ id, max_model_len: limit }: ModelCard): Promise<Check> {
    const wanted =
      this.#needs.settings.maxModelLen ?? modelPositions(modelFolder(this.#needs.settings.model));
    const check = lengthCheck(
      limit,
      await longestTokens(this.#ask, id, this.#needs.prompts),
      '--max-model-len',
    );
    if (check.state === 'ok' && wanted !== null && limit! < wanted)
      return missing(
        'Length',
        `${countText(limit!)} tokens; serving.maxModelLen is ${countText(wanted)}`,
        `start it with --max-model-len ${wanted}, or set serving.maxModelLen to ${limit}`,
      );
    return check;
  }

  /**
   * Whether adapters of the file's rank can be loaded: the server is given a folder that has the settings of
   * one, and no weights. It reads the settings first, and refuses a rank that is too large.
   */
  async #adapters(): Promise<Check> {
    const { maxLoraRank } = this.#needs.settings;
    const folder = mkdtempSync(join(this.#needs.shared, 'genenv-doctor-'));
    try {
      writeFileSync(
        join(folder, 'adapter_config.json'),
        JSON.stringify({
          peft_type: 'LORA',
          r: maxLoraRank,
          lora_alpha: maxLoraRank,
          target_modules: ['q_proj'],
          bias: 'none',
          task_type: 'CAUSAL_LM',
        }),
      );
      const { status, text } = await this.#ask('/v1/load_lora_adapter', {
        lora_name: 'genenv-doctor',
        lora_path: folder,
      });
      return adapterCheck({ status, text }, folder, maxLoraRank);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  /** Token ids, and the distribution that log-probabilities are of. */
  async #sampling(model: string): Promise<Check[]> {
    const top = async (fields: object): Promise<Sampled> => {
      const { json, text } = await this.#ask('/v1/completions', {
        ...{
          model,
          prompt: 'The',
          max_tokens: 1,
          seed: 1,
          logprobs: 1,
          return_token_ids: true,
          temperature: 1,
        },
        ...fields,
      });
      const [choice] = (json as { choices?: Choice[] } | undefined)?.choices ?? [];
      if (choice === undefined) throw new Error(`a completion was answered by ${text.slice(0, 200)}`);
      const logprobs = choice.logprobs?.top_logprobs?.[0] ?? {};
      return {
        hasTokenIds: Array.isArray(choice.token_ids) && Array.isArray(choice.prompt_token_ids),
        top: Math.max(...Object.values(logprobs)),
      };
    };
    const [cold, hot, plain, neutral] = [
      await top({ ...plainSampling, temperature: 0.5 }),
      await top({ ...plainSampling, temperature: 2 }),
      await top({}),
      await top(plainSampling),
    ];
    return [
      plain.hasTokenIds
        ? ok('Token ids', 'returned')
        : missing('Token ids', 'not returned', 'use a vLLM that knows return_token_ids (0.10.2 or newer)'),
      logprobsCheck(
        cold.top > hot.top + LOGPROB_TOLERANCE && hot.top <= 0,
        'start it with --logprobs-mode processed_logprobs',
      ),
      Math.abs(plain.top - neutral.top) < LOGPROB_TOLERANCE
        ? ok('Sampling', 'no defaults of the model’s folder')
        : missing(
            'Sampling',
            'top-k, top-p or a penalty of the model’s folder is applied',
            'start it with --generation-config vllm',
          ),
    ];
  }

  /**
   * Requests with a seed, on the processor build: read from the server's settings, since trying it would end
   * the engine.
   */
  async #seeds(): Promise<Check> {
    if (this.#needs.isManaged) return ok('Seeds', 'prompts are read whole: the stack starts it so');
    const { json, status } = await this.#ask('/server_info?config_format=json');
    const config = status === 200 ? JSON.stringify(json) : '';
    const remedy =
      'start it with --no-enable-chunked-prefill and --max-num-batched-tokens of at least --max-model-len';
    if (config !== '' && !config.includes('"device":"cpu"')) return ok('Seeds', 'no processor build');
    if (config.includes('"enable_chunked_prefill":true'))
      return missing(
        'Seeds',
        'prompts are read in parts, and a request with a seed then kills the engine of the processor build',
        remedy,
      );
    if (config !== '') return ok('Seeds', 'prompts are read whole');
    return note(
      'Seeds',
      `the server does not say what it runs on: start it with VLLM_SERVER_DEV_MODE=1 to have this checked; if that is a processor, ${remedy}, or a request with a seed ends its engine`,
    );
  }

  async #structuredOutput(model: string): Promise<Check> {
    return structureCheck(
      await this.#ask('/v1/completions', {
        ...{ model, prompt: 'The', max_tokens: 1, temperature: 1, seed: 1 },
        ...this.#needs.structure,
      }),
    );
  }
}

/** What the server says to the adapter without weights. */
export function adapterCheck(
  { status, text }: { status: number; text: string },
  folder: string,
  rank: number,
): Check {
  const runtime = missing(
    'Adapters',
    `cannot be loaded while it runs (status ${status})`,
    'start it with VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in its environment',
  );
  if (/contain tensors/i.test(text))
    return ok('Adapters', `can be loaded up to rank ${rank}, from the store`);
  if (text.includes('max_lora_rank'))
    return missing(
      'Adapters',
      /LoRA rank[^"]*max_lora_rank \d*/.exec(text)?.[0] ?? text.slice(0, 200),
      `start it with --max-lora-rank ${rank}`,
    );
  if (/no adapter/i.test(text) || text.includes(folder))
    return missing(
      'Adapters',
      `can be loaded, but the server cannot read ${folder}`,
      'let it see the store under the same absolute path (a shared folder, or a mount of the container)',
    );
  if (/lora is not enabled|not supported|enable.lora/i.test(text))
    return missing('Adapters', 'LoRA is not enabled', `start it with --enable-lora --max-lora-rank ${rank}`);
  if (status === 404 || status === 405) return runtime;
  return missing(
    'Adapters',
    `answered ${status}: ${text.slice(0, 200)}`,
    `start it with --enable-lora --max-lora-rank ${rank} and VLLM_ALLOW_RUNTIME_LORA_UPDATING=True`,
  );
}

/** Nothing that a model's folder may say of sampling. */
const plainSampling = { top_p: 1, top_k: -1, min_p: 0, repetition_penalty: 1 };

interface Choice {
  token_ids?: unknown;
  prompt_token_ids?: unknown;
  logprobs?: { top_logprobs?: Record<string, number>[] };
}

interface Sampled {
  hasTokenIds: boolean;
  /** The largest log-probability of the next token. */
  top: number;
}
