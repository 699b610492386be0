/** How an experiment ends, and what it returns then. */
import type { RunOutcome } from '../types/activity-inputs.ts';
import type { CommittedEpoch } from '../types/activity-types.ts';
import type { WorkflowSettings } from '../types/run-state.ts';
import type { ControlState } from './messages.ts';

export interface ExperimentResult {
  outcome: Extract<RunOutcome, 'finished' | 'stopped' | 'token cap reached'>;
  epochs: number;
  /** Hash of the ledger's last line: equal experiments end with equal hashes. */
  ledger: string;
  successRate: number | null;
  heldOut: number | null;
}

/** How the experiment ends after an epoch; undefined if it continues. */
export function outcomeAt(
  { epoch, state }: CommittedEpoch,
  { epochs, maxTokens }: Pick<WorkflowSettings, 'epochs' | 'maxTokens'>,
  { stopAfterEpoch }: Pick<ControlState, 'stopAfterEpoch'>,
): ExperimentResult['outcome'] | undefined {
  if (epoch >= epochs) return 'finished';
  if (maxTokens !== null && state.tokens >= maxTokens) return 'token cap reached';
  return stopAfterEpoch ? 'stopped' : undefined;
}

/** @param heldOut success at the last evaluation */
export const experimentResult = (
  outcome: ExperimentResult['outcome'],
  { epoch, line, metrics }: CommittedEpoch,
  heldOut: number | null,
): ExperimentResult => ({
  outcome,
  epochs: epoch,
  ledger: line,
  successRate: metrics['env/success_rate'] ?? null,
  heldOut,
});
