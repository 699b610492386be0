import type { ServerUse } from '../config/policy-servers.ts';
import type { Prices } from '../config/prices.ts';

/** Tokens of the servers that a run asks besides `serving`; they are among its other counts, too. */
export type ServerUsage = Partial<Record<ServerUse, { tokensSampled: number; tokensRead: number }>>;

/** What a run, or an epoch of it, uses. */
export interface Usage {
  actions: number;
  tokensSampled: number;
  /** Of prompts, those of one prompt once for all its samples; null if they were not recorded. */
  tokensRead: number | null;
  /** Hours of the model servers, and of training jobs; null if they are not known. */
  servingHours: number | null;
  trainingHours: number | null;
  /** Absent in runs with one server. */
  servers?: ServerUsage;
}

/** The sum of some parts. Prompt tokens are those of the parts that have recorded them. */
export const sumUsage = (parts: readonly Usage[]): Usage => {
  const total = (field: 'actions' | 'tokensSampled' | 'tokensRead'): number =>
    parts.reduce((sum, part) => sum + (part[field] ?? 0), 0);
  const hours = (field: 'servingHours' | 'trainingHours'): number | null =>
    parts.some((part) => part[field] === null)
      ? null
      : parts.reduce((sum, part) => sum + (part[field] ?? 0), 0);
  const servers = sumServers(parts.flatMap((part) => part.servers ?? []));
  return {
    ...(servers && { servers }),
    actions: total('actions'),
    tokensSampled: total('tokensSampled'),
    tokensRead: parts.length > 0 && parts.every(lacksPrompts) ? null : total('tokensRead'),
    servingHours: hours('servingHours'),
    trainingHours: hours('trainingHours'),
  };
};

function sumServers(parts: readonly ServerUsage[]): ServerUsage | undefined {
  if (parts.length === 0) return undefined;
  const sums: ServerUsage = {};
  for (const part of parts)
    for (const use of Object.keys(part) as ServerUse[]) {
      const sum = (sums[use] ??= { tokensSampled: 0, tokensRead: 0 });
      sum.tokensSampled += part[use]!.tokensSampled;
      sum.tokensRead += part[use]!.tokensRead;
    }
  return sums;
}

export const lacksPrompts = ({ tokensRead }: Usage): boolean => tokensRead === null;

/** GPU hours by the number of GPUs that work for servers and jobs; null if the hours are not known. */
export const gpuHours = (
  { servingHours, trainingHours }: Usage,
  gpus: Prices['gpus'] = { serving: 1, training: 1 },
): number | null =>
  servingHours === null || trainingHours === null
    ? null
    : servingHours * gpus.serving + trainingHours * gpus.training;

export interface Cost {
  actions: number | null;
  tokens: number | null;
  gpu: number | null;
  /** Of what has a price. */
  total: number;
}

/** What a usage costs; null where there is no price, or no figure. */
export function priceOf(usage: Usage, prices: Prices): Cost {
  const actions = millions(usage.actions, prices.millionActions);
  const tokens = tokenPrice(usage, prices);
  const hours = gpuHours(usage, prices.gpus);
  const gpu = hours === null || prices.gpuHour === undefined ? null : hours * prices.gpuHour;
  return { actions, tokens, gpu, total: (actions ?? 0) + (tokens ?? 0) + (gpu ?? 0) };
}

/** Tokens of a server that has a price of its own are priced by it, all others by the common one. */
function tokenPrice(usage: Usage, prices: Prices): number | null {
  const parts: (number | null)[] = [];
  let { tokensSampled, tokensRead } = usage;
  for (const [use, tokens] of Object.entries(usage.servers ?? {})) {
    const own = prices[use as ServerUse];
    if (own?.millionTokensSampled !== undefined) {
      parts.push(millions(tokens.tokensSampled, own.millionTokensSampled));
      tokensSampled -= tokens.tokensSampled;
    }
    if (own?.millionTokensRead !== undefined && tokensRead !== null) {
      parts.push(millions(tokens.tokensRead, own.millionTokensRead));
      tokensRead -= tokens.tokensRead;
    }
  }
  parts.push(millions(tokensSampled, prices.millionTokensSampled));
  parts.push(millions(tokensRead, prices.millionTokensRead));
  const priced = parts.filter((part) => part !== null);
  return priced.length === 0 ? null : priced.reduce((sum, part) => sum + part, 0);
}

const millions = (count: number | null, price: number | undefined): number | null =>
  count === null || price === undefined ? null : (count / 1e6) * price;
