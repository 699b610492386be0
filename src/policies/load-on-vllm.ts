import type { ServingSettings } from '../contracts/policy-settings.ts';
import { ModelUnavailable, RequestRefused } from './policy-server.ts';

/**
 * Tells vLLM to serve new weights: a LoRA adapter under its versioned name, or the weights of the running model from disk.
 * A name that is loaded already is left alone: names are never reused.
 */
export async function loadOnVllm(
  serving: Extract<ServingSettings, { type: 'openai' }>,
  apiKey: string | undefined,
  name: string,
  folder: string,
): Promise<void> {
  const base = serving.baseUrl.replace(/\/v1\/?$/, '');
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const call = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    }).catch((cause: unknown) => {
      throw new ModelUnavailable(`${base} does not answer: ${String(cause)}`, { cause });
    });
    if (response.ok) return;
    const text = await response.text();
    if (response.status === 400 && /already (been )?loaded/i.test(text)) return;
    if (response.status >= 500)
      throw new ModelUnavailable(`${base}${path} answered ${response.status}: ${text}`);
    throw new RequestRefused(`${base}${path} answered ${response.status} for ${name}: ${text}`);
  };
  if (serving.publish === 'vllm-lora')
    await call('/v1/load_lora_adapter', { lora_name: name, lora_path: folder });
  else {
    await call('/pause?mode=wait', {});
    await call('/update_weights', { path: folder });
    await call('/update_weight_version', { weight_version: name });
    await call('/resume', {});
  }
}
