/** Which server a request goes to, by the name of its model, and what each server apart has sampled and read. */
import type { Experiment } from '../config/experiment.ts';
import { serversApart } from '../config/policy-servers.ts';
import type { ServerUse } from '../config/policy-servers.ts';
import { frozenServing } from '../config/serving.ts';
import type { ServingSettings } from '../config/serving.ts';
import type { EmbeddingClient } from '../inference/embedding-client.ts';
import type { ModelClients } from '../inference/model-clients.ts';
import { promptTokens, sampledTokens } from '../inference/policy-client.ts';
import type { Completion, PolicyClient } from '../inference/policy-client.ts';
import type { ServerTokens } from '../types/activity-types.ts';

interface Route {
  serving: ServingSettings;
  client: PolicyClient;
}

export interface ModelRoutes {
  to: (model: string) => Route;
  /** Tokens sampled. Servers apart give no ids of them, but may count them. */
  countTokens: (completions: readonly Completion[]) => number;
  /** Counts a response for `usage`. */
  record: (model: string, completions: readonly Completion[]) => void;
  /** Asks the world's model of embeddings, and counts what it has read when told so. */
  embeddings: { client: EmbeddingClient; model: string; record: (promptTokens: number) => void } | undefined;
  /** Tokens of the servers apart, recorded responses included; empty in runs without any. */
  usage: () => { servers?: ServerTokens };
}

/**
 * The routes of an experiment. No two of its servers have a model of one name (`impossibleCombinations`), so the
 * name decides; a name that no server apart has is that of a policy of `serving`.
 */
export function createModelRoutes(
  clients: Pick<ModelClients, 'policyClient' | 'embeddingClient'>,
  experiment: Experiment,
): ModelRoutes {
  const timeoutMs = experiment.durability.requestTimeoutSeconds * 1000;
  const routeBy = (serving: ServingSettings): Route => ({
    serving,
    client: clients.policyClient(serving, timeoutMs),
  });
  const policies = routeBy(experiment.serving);
  const apart = new Map<string, Route & { use: ServerUse }>();
  const servers: ServerTokens = {};
  let embeddings: ModelRoutes['embeddings'];
  for (const { use, server } of serversApart(experiment)) {
    const tokens = (servers[use] = { completionTokens: 0, promptTokens: 0 });
    if (use === 'similarity')
      embeddings = {
        client: clients.embeddingClient(server, timeoutMs),
        model: server.model,
        record: (promptTokens) => void (tokens.promptTokens += promptTokens),
      };
    else apart.set(server.model, { use, ...routeBy(frozenServing(server)) });
  }
  return {
    to: (model) => apart.get(model) ?? policies,
    // Ledgers of runs with one server count ids alone.
    countTokens: apart.size === 0 ? countIds : sampledTokens,
    record: (model, completions) => {
      const route = apart.get(model);
      const tokens = route && servers[route.use];
      if (tokens === undefined) return;
      tokens.completionTokens += sampledTokens(completions);
      tokens.promptTokens += promptTokens(completions);
    },
    embeddings,
    usage: () => (Object.keys(servers).length === 0 ? {} : { servers: structuredClone(servers) }),
  };
}

const countIds = (completions: readonly Completion[]): number =>
  completions.reduce((total, { token_ids }) => total + token_ids.length, 0);
