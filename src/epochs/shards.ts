/** Phases of requests are cut into shards, an activity each; what these return is summed over all. */
import type { CommitInput } from '../types/activity-inputs.ts';
import type { Sampling, ServerTokens } from '../types/activity-types.ts';
import type { Metrics } from '../types/run-state.ts';

export const mapShards = <T>(
  shards: number,
  work: (shard: { shard: number; shards: number }) => Promise<T>,
): Promise<T[]> => Promise.all(Array.from({ length: shards }, (_, shard) => work({ shard, shards })));

export const fileRefs = (samplings: readonly Sampling[]): Sampling['file'][] =>
  samplings.map(({ file }) => file);

export const samplingNotes = (samplings: readonly Sampling[]): string[] =>
  samplings.flatMap(({ note }) => note ?? []);

export const sumField = (samplings: readonly Sampling[], field: 'tokens' | 'retried'): number =>
  samplings.reduce((sum, sampling) => sum + sampling[field], 0);

/** What the epoch has sampled: candidates that no rollout was made of, and their tokens, are in no other count. */
export const samplingMetrics = (generated: readonly Sampling[], rollouts: readonly Sampling[]): Metrics => ({
  'env/generated': generated.reduce((sum, { file }) => sum + file.count, 0),
  'env/num_tokens': sumField(generated, 'tokens'),
  'rollouts/num_tokens': sumField(rollouts, 'tokens'),
});

/**
 * Tokens that the model servers sampled and read; nothing if a phase was recorded without its prompts.
 * @param written tokens of the data set that was written
 */
export function usageOf(samplings: readonly Sampling[], written = 0): Pick<CommitInput, 'usage'> {
  let promptTokens = 0;
  for (const sampling of samplings) {
    if (sampling.promptTokens === undefined) return {};
    promptTokens += sampling.promptTokens;
  }
  const usage = { completionTokens: written + sumField(samplings, 'tokens'), promptTokens };
  const servers = sumServers(samplings.flatMap((sampling) => sampling.servers ?? []));
  return { usage: { ...usage, ...(servers && { servers }) } };
}

/** What each server apart has sampled and read in all phases; undefined in runs without any. */
function sumServers(parts: readonly ServerTokens[]): ServerTokens | undefined {
  if (parts.length === 0) return undefined;
  const sums: ServerTokens = {};
  for (const part of parts) {
    for (const [name, tokens] of Object.entries(part)) {
      const use = name as keyof ServerTokens;
      const { completionTokens, promptTokens } = sums[use] ?? { completionTokens: 0, promptTokens: 0 };
      sums[use] = {
        completionTokens: completionTokens + tokens.completionTokens,
        promptTokens: promptTokens + tokens.promptTokens,
      };
    }
  }
  return sums;
}
