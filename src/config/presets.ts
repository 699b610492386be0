/**
 * The two named settings of the method. A value that the experiment file gives wins over them. `paper`: what
 * arXiv 2512.19682 prints; what it does not print is the reference release's, or this project's own. The table
 * of docs/method.md says which, field by field. `tuned`: what works at small scale;
 * docs/decisions/0004-two-presets.md has the reasons and the figures.
 */
export const presets = {
  paper: {
    difficulty: { alpha: 0.5, beta: 2, per: 'batch' },
    filter: { type: 'threshold', kMin: 0.1, appliesTo: ['environment'] },
    pools: {
      train: { mix: { base: 1, history: 1, new: 2 }, capacity: 4096 },
      // Algorithm 1 trains on the weighted set of this epoch's tasks.
      environment: { window: 1, deduplicate: false, memory: null },
    },
    guards: { discrimination: false, familyCap: null },
    environment: {
      initialShare: 0,
      seedOrder: 'passes',
      training: {
        lambda: 1,
        learningRate: 5e-7,
        klCoefficient: 0.02,
        klEstimator: 'exact',
        maxKl: null,
        maxStepKl: 0.01,
        stepsPerEpoch: null,
        recordsPerStep: 64,
      },
    },
    agent: {
      rolloutsPerTask: 8,
      training: {
        learningRate: 1e-6,
        klCoefficient: 0.001,
        klEstimator: 'k3',
        maxKl: null,
        entropyCoefficient: 0.001,
        batchSize: 64,
        scaleByStd: true,
        lossType: 'grpo',
        clipLow: 0.2,
        clipHigh: 0.2,
        dropZeroVariance: false,
      },
    },
  },
  tuned: {
    difficulty: { alpha: 0.5, beta: 8, per: 'task' },
    filter: { type: 'off' },
    pools: {
      train: { mix: { base: 0, history: 0, new: 1 }, capacity: 4096 },
      environment: {
        window: 1,
        deduplicate: true,
        memory: { minReward: 0.6, perTenth: 32, recordsPerStep: 16 },
      },
    },
    guards: {
      discrimination: true,
      familyCap: 0.5,
      randomSuccess: 0.125,
      verdictAgreement: true,
      flatRewards: 0.05,
      starvedAfter: 5,
      gateAgent: { every: 5, tasks: 128, drop: 0.02 },
    },
    environment: {
      initialShare: 0.125,
      training: {
        lambda: 5,
        learningRate: 1e-3,
        klCoefficient: 0.02,
        klEstimator: 'exact',
        maxKl: 1,
        stepsPerEpoch: 3,
        recordsPerStep: 64,
      },
    },
    agent: {
      rolloutsPerTask: 8,
      training: {
        learningRate: 1e-4,
        klCoefficient: 0,
        klEstimator: 'k3',
        maxKl: null,
        stepsPerEpoch: 1,
        scaleByStd: false,
        lossType: 'dapo',
        clipLow: 0.2,
        clipHigh: 0.28,
        dropZeroVariance: true,
        // A step is as small as its groups with signal are few, so one of them is enough.
        minInformativeGroups: 1,
      },
    },
  },
} as const;

export type PresetName = keyof typeof presets;

/**
 * What `paper` says of worlds whose tasks a simulator writes as JSON: its labels are believed, its prompt names no
 * target, and what is no task is not asked for again.
 */
export const paperWorlds: Readonly<Record<string, object>> = {
  language: { vote: null, band: null, repairs: 0 },
  calls: { vote: null, band: null, repairs: 0 },
  travel: { band: null, repairs: 0 },
  services: { band: null, repairs: 0 },
};
