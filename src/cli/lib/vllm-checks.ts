import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelFolder, modelPositions } from '../../config/model-folder.ts';
import type { VllmSettings } from '../../dev-stack/vllm-settings.ts';
import { missing, note, ok } from './check.ts';
import type { Check } from './check.ts';
import { countText } from './text.ts';

/** What a file needs of a vLLM. */
export interface VllmNeeds {
  settings: VllmSettings;
  /** The longest prompt of each role, and the most tokens that are sampled after it. */
  prompts: { role: string; text: string; maxTokens: number }[];
  /** What the server is to hold the simulator to; undefined = nothing. */
  structure: object | undefined;
  /** A folder that the server can read too, if it shares the store. */
  shared: string;
  /** Whether the embedded stack has started it, with flags that are known. */
  isManaged: boolean;
}

interface Answer {
  status: number;
  text: string;
  /** The body as JSON; undefined if it is none. */
  json: unknown;
}

const REQUEST_SECONDS = 120;

/** Asks a server whether it has what a file needs, and says which flag is wrong. Never rejects. */
export class VllmChecks {
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #needs: VllmNeeds;

  constructor(address: string, apiKey: string | undefined, needs: VllmNeeds) {
    this.#base = address.replace(/\/v1\/?$/, '');
    this.#headers = {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    this.#needs = needs;
  }

  async run(): Promise<Check[]> {
    const checks: Check[] = [];
    try {
      const models = await this.#ask('/v1/models');
      if (models.status === 401 || models.status === 403)
        return [
          missing(
            this.#base,
            `answered ${models.status}`,
            'set the variable that apiKeyEnv names to its key',
          ),
        ];
      const base = (models.json as { data?: ModelCard[] } | undefined)?.data?.find(
        ({ parent }) => (parent ?? null) === null,
      );
      if (models.status !== 200 || base === undefined)
        return [
          missing(
            this.#base,
            `answered ${models.status} to /v1/models`,
            'name the address of a vLLM, ending in /v1',
          ),
        ];
      checks.push(await this.#reachable(base), this.#model(base), await this.#length(base));
      checks.push(await this.#adapters());
      checks.push(...(await this.#sampling(base.id)), await this.#seeds());
      if (this.#needs.structure !== undefined) checks.push(await this.#structuredOutput(base.id));
    } catch (error) {
      checks.push(
        missing(this.#base, `does not answer: ${reasonOf(error)}`, 'start it, or correct serving.baseUrl'),
      );
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
    const longest: { role: string; tokens: number }[] = [];
    for (const { role, text, maxTokens } of this.#needs.prompts) {
      const { json } = await this.#ask('/tokenize', { model: id, prompt: text });
      const count = (json as { count?: number } | undefined)?.count;
      if (count !== undefined) longest.push({ role, tokens: count + maxTokens });
    }
    const text = longest.map(({ role, tokens }) => `${role} ${countText(tokens)}`).join(', ');
    const need = Math.max(0, ...longest.map(({ tokens }) => tokens));
    if (limit === null || limit === undefined)
      return note('Length', `the server does not say; needed: ${text}`);
    if (need > limit)
      return missing(
        'Length',
        `${countText(limit)} tokens; prompt and answer take ${text}`,
        `start it with --max-model-len ${need} or more, or lower sampling.maxTokens`,
      );
    if (wanted !== null && limit < wanted)
      return missing(
        'Length',
        `${countText(limit)} tokens; serving.maxModelLen is ${countText(wanted)}`,
        `start it with --max-model-len ${wanted}, or set serving.maxModelLen to ${limit}`,
      );
    return ok('Length', `${countText(limit)} tokens; the longest prompt and answer take ${text}`);
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
      cold.top > hot.top + LOGPROB_TOLERANCE && hot.top <= 0
        ? ok('Log-probabilities', 'of the distribution that was sampled from')
        : missing(
            'Log-probabilities',
            'the same at every temperature: those before sampling',
            'start it with --logprobs-mode processed_logprobs, or GRPO trains on ratios that are wrong',
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
      `the server does not say what it runs on; if that is a processor, ${remedy}, or a request with a seed ends its engine`,
    );
  }

  async #structuredOutput(model: string): Promise<Check> {
    const { status, text } = await this.#ask('/v1/completions', {
      ...{ model, prompt: 'The', max_tokens: 1, temperature: 1, seed: 1 },
      ...this.#needs.structure,
    });
    return status === 200
      ? ok('Structured output', 'the schema or grammar of the world is taken')
      : missing(
          'Structured output',
          `answered ${status}: ${text.slice(0, 200)}`,
          'set serving.structuredOutput to "none", or start the server with another structured output backend',
        );
  }

  async #ask(path: string, body?: object): Promise<Answer> {
    const response = await fetch(`${this.#base}${path}`, {
      headers: this.#headers,
      signal: AbortSignal.timeout(REQUEST_SECONDS * 1000),
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, text, json: parseJson(text) };
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
/** Log-probabilities of one token that differ by more are of different distributions. */
const LOGPROB_TOLERANCE = 1e-3;

interface ModelCard {
  id: string;
  root?: string | null;
  parent?: string | null;
  max_model_len?: number | null;
}

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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
