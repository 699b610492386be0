import type { Prices } from '../config/prices.ts';

/** What a run, or an epoch of it, uses. */
export interface Usage {
  actions: number;
  tokensSampled: number;
  /** Of prompts, those of one prompt once for all its samples; null if they were not recorded. */
  tokensRead: number | null;
  /** Hours of the model servers, and of training jobs; null if they are not known. */
  servingHours: number | null;
  trainingHours: number | null;
}

/** The sum of some parts. Prompt tokens are those of the parts that have recorded them. */
export const sumUsage = (parts: readonly Usage[]): Usage => {
  const total = (field: 'actions' | 'tokensSampled' | 'tokensRead'): number =>
    parts.reduce((sum, part) => sum + (part[field] ?? 0), 0);
  const hours = (field: 'servingHours' | 'trainingHours'): number | null =>
    parts.some((part) => part[field] === null)
      ? null
      : parts.reduce((sum, part) => sum + (part[field] ?? 0), 0);
  return {
    actions: total('actions'),
    tokensSampled: total('tokensSampled'),
    tokensRead: parts.length > 0 && parts.every(lacksPrompts) ? null : total('tokensRead'),
    servingHours: hours('servingHours'),
    trainingHours: hours('trainingHours'),
  };
};

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
  const million = (count: number | null, price: number | undefined): number | null =>
    count === null || price === undefined ? null : (count / 1e6) * price;
  const actions = million(usage.actions, prices.millionActions);
  const sampled = million(usage.tokensSampled, prices.millionTokensSampled);
  const read = million(usage.tokensRead, prices.millionTokensRead);
  const tokens = sampled === null && read === null ? null : (sampled ?? 0) + (read ?? 0);
  const hours = gpuHours(usage, prices.gpus);
  const gpu = hours === null || prices.gpuHour === undefined ? null : hours * prices.gpuHour;
  return { actions, tokens, gpu, total: (actions ?? 0) + (tokens ?? 0) + (gpu ?? 0) };
}
