import type { ProbedAgent } from '../comparison/probe-summary.ts';
import type { ProbeRecord } from '../contracts/comparisons.ts';
import type { GradientRecord, ProbeOutcomeRecord } from '../contracts/records.ts';
import { collect } from '../store/collect.ts';
import type { Ports } from './ports.ts';

/** What probes left in the store. @throws InvalidArtifact where a file is not whole */
export async function readProbes({ store }: Ports, probes: readonly ProbeRecord[]): Promise<ProbedAgent[]> {
  return Promise.all(
    probes.map(async ({ arm, seed, epoch, outcomes, gradients }) => ({
      arm,
      seed,
      epoch,
      attempts: (await collect(store.records<ProbeOutcomeRecord>(outcomes))).map(({ solved }) =>
        solved.map((one) => one === 1),
      ),
      signal:
        gradients &&
        (await collect(store.records<GradientRecord>(gradients))).map(
          ({ success_rate, squared_norm, squared_score, tokens }) => ({
            p: success_rate,
            norm: squared_norm,
            score: squared_score,
            tokens,
          }),
        ),
    })),
  );
}
