import { tinyExperiment } from './tiny-experiment.ts';

/** Two arms under two seeds, of the tiny experiment: runs of two epochs. */
export function tinyComparison(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    name: 'tiny-comparison',
    seeds: [1, 2],
    experiment: tinyExperiment({ epochs: 2, evaluation: { every: 1 } }),
    arms: { tuned: {}, random: { arm: { type: 'random' }, environment: { training: null } } },
    baseline: 'random',
    crossPlay: { arms: ['tuned'], seeds: [1], checkpoints: 2, tasks: 8, samples: 2 },
    probes: { arms: ['tuned'], seeds: [1], tasks: 6, attempts: 16 },
    ...changes,
  };
}
