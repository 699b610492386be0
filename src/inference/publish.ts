/** How a policy's weights reach the server that answers for it. */
import { join } from 'node:path';
import type { ServingSettings } from '../config/policies.ts';
import { atomicWrite } from '../store/atomic-write.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { PolicyVersion } from '../types/activity-types.ts';
import type { ModelClients } from './model-clients.ts';
import { connectionProblem, shortReason } from './outage-reason.ts';
import { ModelNotServed, ModelUnavailable, RequestRefused } from './policy-client.ts';

/**
 * Tells vLLM to serve new weights: a LoRA adapter under its versioned name, or the weights of the running
 * model from disk. A name that is loaded already is left alone: names are never reused.
 * @throws ModelUnavailable, RequestRefused
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
      const reason = connectionProblem(cause);
      throw new ModelUnavailable(`${base} does not answer: ${reason}`, {
        cause,
        server: serving.baseUrl,
        reason,
      });
    });
    if (response.ok) return;
    const text = await response.text();
    if (response.status === 400 && /already (been )?loaded/i.test(text)) return;
    if (response.status >= 500)
      throw new ModelUnavailable(`${base}${path} answered ${response.status}: ${text}`, {
        server: serving.baseUrl,
        reason: shortReason(`${path} answered ${response.status} ${text}`),
      });
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

/**
 * Makes a checkpoint reachable under its versioned name; false if nothing can be done, because the weights
 * are the server's own. Idempotent: a name always means the same weights.
 */
export async function ensurePolicyServed(
  { store, loadOnServer }: Pick<ModelClients, 'loadOnServer'> & { store: ObjectStore },
  serving: ServingSettings,
  { name, checkpoint }: PolicyVersion,
): Promise<boolean> {
  if (checkpoint === null) return false;
  if (serving.type === 'embedded') {
    await atomicWrite(
      join(store.root, 'served', `${name}.json`),
      `${JSON.stringify({ path: checkpoint.uri })}\n`,
    );
    return true;
  }
  if (serving.type === 'openai' && serving.publish === 'none') return false;
  await loadOnServer(serving, name, store.path(checkpoint));
  return true;
}

/**
 * Sends a request; if the server has forgotten the policy, publishes it and sends the request once more.
 * @param publish as `ensurePolicyServed`
 */
export async function resendIfPolicyMissing<Response>(
  send: () => Promise<Response>,
  publish: () => Promise<boolean>,
): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ModelNotServed) || !(await publish())) throw error;
    return send();
  }
}
