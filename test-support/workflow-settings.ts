import type { WorkflowSettings } from '../src/types/run-state.ts';

/** What the workflow of a tiny experiment has of its file. */
export const tinyWorkflowSettings: WorkflowSettings = {
  name: 'tiny',
  arm: 'genenv-tuned',
  epochs: 3,
  evaluateEvery: 2,
  epochsPerRun: 2,
  shards: { generate: 2, rollOut: 2, evaluate: 2 },
  trains: { agent: true, environment: true },
  heartbeatSeconds: 5,
  maxPhaseAttempts: 3,
  maxTokens: null,
  band: [0.4, 0.6],
  rolloutsPerEpoch: 64,
};
