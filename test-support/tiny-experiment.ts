/** A real experiment, as small as it can be: two models trained for seconds, three epochs. */
export function tinyExperiment(changes: Record<string, unknown> = {}): Record<string, unknown> {
  const architecture = { hiddenSize: 16, layers: 1, heads: 2, intermediateSize: 32 };
  return {
    name: 'tiny',
    seed: 7,
    epochs: 3,
    arm: { type: 'genenv', preset: 'tuned' },
    world: {
      type: 'toolbox',
      tools: 2,
      symbols: 4,
      maxLength: 6,
      baseLengths: [3, 4],
      heldOutLengths: [1, 3],
      heldOutPerCell: 2,
      baseTasks: 8,
    },
    environment: {
      model: { type: 'scratch', architecture, warmUp: { rows: 1920, batch: 32, learningRate: 0.01 } },
      sampling: { maxTokens: 10 },
      promptsPerEpoch: 4,
      variationsPerPrompt: 4,
      training: { recordsPerStep: 8 },
    },
    agent: {
      model: { type: 'scratch', architecture, warmUp: { rows: 1920, batch: 32, learningRate: 0.01 } },
      sampling: { maxTokens: 12 },
      rolloutsPerTask: 4,
      training: { stepsPerEpoch: 2, minInformativeGroups: 0, learningRate: 0.001, dropZeroVariance: false },
    },
    evaluation: { every: 2 },
    // So that both policies are trained in every epoch.
    guards: { flatRewards: null },
    trainer: { device: 'cpu', threads: 1 },
    durability: {
      shards: 2,
      promptsPerRequest: 4,
      heartbeatSeconds: 5,
      requestTimeoutSeconds: 4,
      epochsPerRun: 2,
    },
    ...changes,
  };
}
