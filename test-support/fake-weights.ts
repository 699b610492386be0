import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deriveSeed, randomStream } from '../src/numerics/random.ts';
import { sha256 } from '../src/store/canonical-json.ts';
import type { Canary } from '../src/types/training-job.ts';

/** What distinguishes the weights of a folder from others: all of its bytes. */
export function weightsIn(folder: string): string {
  const names = readdirSync(folder).sort();
  return sha256(names.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n'));
}

/** The likeliest tokens after a prompt, as fake weights have it; null = those of the base model. */
export function fakeLikeliest(
  weights: string | null,
  prompt: readonly number[],
  count: number,
): Map<number, number> {
  const random = randomStream(deriveSeed(0, weights ?? 'base', ...prompt));
  const first = random.int(1000);
  return new Map(Array.from({ length: count }, (_, rank) => [first + rank, -rank - random.next()]));
}

/** What the fake trainer writes of an adapter, and a server of the same weights confirms. */
export function fakeCanary(weights: string): Canary {
  const likeliest = (which: string | null, prompt: number[]) => {
    const top = fakeLikeliest(which, prompt, 3);
    return { token_ids: [...top.keys()], logprobs: [...top.values()] };
  };
  return [[1], [1, 2], [1, 2, 3]].map((prompt) => ({
    prompt,
    adapter: likeliest(weights, prompt),
    base: likeliest(null, prompt),
  }));
}
