/** What the pipeline is given: activities, where it starts, and what runs its phases. */
import type { FileRef } from '../store/references.ts';
import type * as inputs from '../types/activity-inputs.ts';
import type {
  ColdStart,
  CommittedEpoch,
  Filtered,
  Gated,
  Rewards,
  Sampling,
  Trained,
  UpdatedPools,
  WrittenPool,
} from '../types/activity-types.ts';
import type { PolicyVersion, Run, RunState, WorkflowSettings } from '../types/run-state.ts';

/** The activities of an epoch and of the preparation. `Committed` is what the last of them returns. */
export interface PipelineActivities<Committed = CommittedEpoch> {
  warmUp: (input: inputs.WarmUpInput) => Promise<PolicyVersion>;
  prepareRun: (input: inputs.PrepareInput) => Promise<RunState>;
  checkColdStart: (input: inputs.PhaseInput) => Promise<ColdStart>;
  writePool: (input: inputs.PhaseInput) => Promise<WrittenPool>;
  generateTasks: (input: inputs.GenerateTasksInput) => Promise<Sampling>;
  drawTasks: (input: inputs.DrawTasksInput) => Promise<FileRef>;
  rollOut: (input: inputs.RollOutInput) => Promise<Sampling>;
  computeRewards: (input: inputs.ComputeRewardsInput) => Promise<Rewards>;
  filterByDifficulty: (input: inputs.FilterInput) => Promise<Filtered>;
  updatePools: (input: inputs.UpdatePoolsInput) => Promise<UpdatedPools>;
  trainAgent: (input: inputs.TrainAgentInput) => Promise<Trained>;
  trainEnvironment: (input: inputs.TrainEnvironmentInput) => Promise<Trained>;
  publishPolicy: (input: inputs.PublishInput) => Promise<void>;
  gateAgent: (input: inputs.GateInput) => Promise<Gated>;
  evaluatePolicy: (input: inputs.EvaluateInput) => Promise<Sampling>;
  commitEpoch: (input: inputs.CommitInput) => Promise<Committed>;
}

export interface EpochStart {
  run: Run;
  settings: WorkflowSettings;
  epoch: number;
  state: RunState;
}

/** Runs the phases, one after another; a workflow's runner waits for pauses and measures time. */
export interface PhaseRunner {
  run: <T>(phase: string, work: () => Promise<T>) => Promise<T>;
  /** Seconds by phase so far. */
  seconds: () => Record<string, number>;
  /** Called when a round of tasks and rollouts begins, with its number from 1 on. */
  onRound?: (round: number) => void;
  /** Called after each shard of rollouts with the number of its traces. */
  onRollouts?: (traces: number) => void;
}
