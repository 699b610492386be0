/** Servers that are given LoRA adapters by name while they run, and the check that they serve the right ones. */
import type { Canary } from '../types/training-job.ts';
import { ModelUnavailable } from './policy-client.ts';

/** Log-probabilities by token id, at temperature 1. */
export type TokenLogprobs = ReadonlyMap<number, number>;

/** One server of adapters over one base model. Every method throws ModelUnavailable, or RequestRefused. */
export interface AdapterServer {
  readonly address: string;
  /**
   * Loads an adapter under a name. A name that is loaded already is left alone: names are never reused.
   * @throws AdapterNotLoaded if the server answers that it cannot
   */
  load(name: string, folder: string): Promise<void>;
  /** Forgets an adapter. Requests to it that are under way are answered; one that is not there is no fault. */
  unload(name: string): Promise<void>;
  /**
   * The likeliest tokens after each prompt, at least as many as a canary has.
   * @param model null = the base model
   */
  likeliest(model: string | null, prompts: readonly (readonly number[])[]): Promise<TokenLogprobs[]>;
  /**
   * Puts the server to sleep, whose weights then leave the GPU, or wakes it. One that is so already is left alone.
   * @throws ModelUnavailable, RequestRefused for a server that cannot sleep
   */
  setAsleep(isAsleep: boolean): Promise<void>;
}

/** The server cannot load the adapter; the folder may be damaged. */
export class AdapterNotLoaded extends ModelUnavailable {}

/** A server answers with other weights than were published under a name. Never retried. */
export class WrongWeights extends Error {
  override readonly name = 'WrongWeights';
}

/** Difference of log-probabilities that the order of sums explains in float32; measured: 0.000007. */
const EXACT = 1e-4;
/** How much farther than the base model's an adapter's may be, which has more steps to round. */
const ROUNDING = 4;
/** Above it no precision explains the difference; bfloat16 has a hundredth. */
const MAX_BASE_DIFFERENCE = 0.25;

/**
 * Makes a server serve an adapter under a name, and checks by its canary that it does. One that does not is
 * unloaded and loaded once more.
 * @throws WrongWeights if it still does not, AdapterNotLoaded, ModelUnavailable, RequestRefused
 */
export async function publishAdapter(
  server: AdapterServer,
  name: string,
  folder: string,
  canary: Canary | undefined,
): Promise<void> {
  await server.load(name, folder);
  if (canary === undefined || (await differenceFrom(server, name, canary)) === undefined) return;
  await server.unload(name);
  // vLLM keeps what it computed under a name and a path: another spelling of the path is not mixed with it.
  await server.load(name, `${folder}/.`);
  const difference = await differenceFrom(server, name, canary);
  if (difference === undefined) return;
  await server.unload(name);
  throw new WrongWeights(`${server.address} does not serve ${name} (${folder}): ${difference}`);
}

/** What distinguishes the server's answers from the trainer's; undefined if they are the same weights. */
async function differenceFrom(
  server: AdapterServer,
  name: string,
  canary: Canary,
): Promise<string | undefined> {
  const prompts = canary.map(({ prompt }) => prompt);
  const [baseTops, adapterTops] = await Promise.all([
    server.likeliest(null, prompts),
    server.likeliest(name, prompts),
  ]);
  const base = meanDifference(canary, 'base', baseTops);
  const adapter = meanDifference(canary, 'adapter', adapterTops);
  const compared =
    `log-probabilities of the ${canary[0]!.adapter.token_ids.length} likeliest next tokens at ` +
    `${canary.length} places of a text, the server's beside the trainer's, differ by`;
  if (base > MAX_BASE_DIFFERENCE)
    return `${compared} ${digits(base)} in the mean under the base model alone, so it is another one`;
  const allowed = EXACT + ROUNDING * base;
  const change = meanChange(canary, baseTops, adapterTops);
  // Rounding adds to a change in the mean, it does not take from it.
  if (change.trainer > Math.max(EXACT, base) && change.server < change.trainer / 2)
    return (
      `the adapter changes log-probabilities by ${digits(change.trainer)} in the mean, and on the server by ` +
      `${digits(change.server)}, so it answers with the base model or an older adapter`
    );
  if (adapter <= allowed) return undefined;
  return (
    `${compared} ${digits(adapter)} in the mean, where ${digits(allowed)} is allowed (the base model's ` +
    `differ by ${digits(base)}), so its weights are others`
  );
}

const digits = (value: number): string => value.toPrecision(2);

/** How far the adapter's log-probabilities are from the base model's, over tokens that the canary has of both. */
function meanChange(
  canary: Canary,
  baseTops: readonly TokenLogprobs[],
  adapterTops: readonly TokenLogprobs[],
): { trainer: number; server: number } {
  const changes = canary.flatMap(({ adapter, base }, index) => {
    const [before, after] = [baseTops[index]!, adapterTops[index]!];
    return adapter.token_ids.flatMap((token, place) => {
      const [expected, served] = [base.logprobs[base.token_ids.indexOf(token)], before.get(token)];
      if (expected === undefined || served === undefined) return [];
      const now = after.get(token) ?? Math.min(...after.values());
      return [{ trainer: Math.abs(adapter.logprobs[place]! - expected), server: Math.abs(now - served) }];
    });
  });
  const mean = (which: 'trainer' | 'server'): number =>
    changes.reduce((sum, change) => sum + change[which], 0) / Math.max(1, changes.length);
  return { trainer: mean('trainer'), server: mean('server') };
}

/** Mean over all tokens of the canary. One that the server does not name is no likelier than those that it does. */
function meanDifference(canary: Canary, which: 'adapter' | 'base', tops: readonly TokenLogprobs[]): number {
  const differences = canary.flatMap((place, index) => {
    const top = tops[index]!;
    const least = Math.min(...top.values());
    const { token_ids: tokens, logprobs } = place[which];
    return logprobs.map((expected, token) => Math.abs(expected - (top.get(tokens[token]!) ?? least)));
  });
  return differences.reduce((sum, difference) => sum + difference, 0) / differences.length;
}
