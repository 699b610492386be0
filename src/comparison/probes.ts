import type { LongComputation } from '../async/long-computation.ts';
import { TARGET_BAND } from '../coevolution/success-band.ts';
import { deriveSeed } from '../numerics/random.ts';
import type { ProbeRecord } from '../types/comparison-inputs.ts';
import { inOwnUnits, signalFit } from './theory/gradient-signal.ts';
import type { SignalFit, SignalTask } from './theory/gradient-signal.ts';
import { computeMisranking } from './theory/ranking.ts';
import type { Attempts } from './theory/attempt-counts.ts';
import type { Misranking } from './theory/ranking.ts';
import { computeStratifiedSignal } from './theory/stratified-signal.ts';
import type { StratifiedSignal } from './theory/stratified-signal.ts';

/** A probed agent with what its files hold. */
export interface ProbedAgent extends Pick<ProbeRecord, 'arm' | 'seed' | 'epoch'> {
  attempts: Attempts[];
  /** Null if the agent's weights are not here. */
  signal: SignalTask[] | null;
}

/** Attempts that a ranking is made from. */
const SIZES = [4, 8, 16, 32, 64] as const;
/** Least difference of a pair's distances from α. */
const MIN_GAP = 0.1;

export interface ProbeSummary {
  arm: string;
  agents: { seed: number; epoch: number; tasks: number; r2: number | null; peak: SignalFit['peak'] | null }[];
  alpha: number;
  minGap: number;
  ranking: Misranking[];
  /** Of all agents together, each in units of its own mean ‖∇ log π‖²; null if no gradient was measured. */
  signal: SignalFit | null;
  /** The same among answers of like length, by which the claim is judged. */
  stratified: StratifiedSignal | null;
}

/** Sums up the probes of each arm, as a long computation. @param alpha target success rate of an arm */
export function* computeProbeSummaries(
  agents: readonly ProbedAgent[],
  alpha: (arm: string) => number,
): LongComputation<ProbeSummary[]> {
  const summaries: ProbeSummary[] = [];
  for (const arm of new Set(agents.map((agent) => agent.arm))) {
    const probed = agents.filter((agent) => agent.arm === arm);
    summaries.push({
      arm,
      agents: probed.map(({ seed, epoch, attempts, signal }) => {
        const fit = signal && signalFit(signal);
        return { seed, epoch, tasks: attempts.length, r2: fit?.r2 ?? null, peak: fit?.peak ?? null };
      }),
      alpha: alpha(arm),
      minGap: MIN_GAP,
      ranking: yield* computeMisranking(
        probed.map(({ attempts }) => attempts),
        { alpha: alpha(arm), minGap: MIN_GAP, sizes: SIZES, seed: deriveSeed(0, 'misranking', arm) },
      ),
      signal: signalFit(probed.flatMap(({ signal }) => inOwnUnits(signal ?? []))),
      stratified: yield* computeStratifiedSignal(
        probed.map(({ signal }) => signal ?? []),
        { seed: deriveSeed(0, 'stratified-signal', arm), middle: TARGET_BAND },
      ),
    });
  }
  return summaries;
}
