import type { Experiment } from './experiment.ts';

/** Base and earlier tasks an epoch draws, from the shares of the mix. */
export function replayCount({ environment, pools }: Pick<Experiment, 'environment' | 'pools'>): number {
  const { base, history, new: fresh } = pools.train.mix;
  return Math.round(
    (environment.promptsPerEpoch * environment.variationsPerPrompt * (base + history)) / fresh,
  );
}
