import { defineSearchAttributeKey } from '@temporalio/common';
import type { SearchAttributeUpdatePair } from '@temporalio/common';
import type { Progress } from '../contracts/progress.ts';

/** Typed search attributes, so that `temporal workflow list --query 'GenEnvSuccessRate > 0.4'` works. The worker registers them. */
export const searchAttributeKeys = {
  experiment: defineSearchAttributeKey('GenEnvExperiment', 'KEYWORD'),
  arm: defineSearchAttributeKey('GenEnvArm', 'KEYWORD'),
  /** preparing, running, paused, stopping; then how it ended: finished, stopped, token cap reached, cancelled, failed. */
  status: defineSearchAttributeKey('GenEnvStatus', 'KEYWORD'),
  epoch: defineSearchAttributeKey('GenEnvEpoch', 'INT'),
  successRate: defineSearchAttributeKey('GenEnvSuccessRate', 'DOUBLE'),
};

export function searchAttributes({
  experiment,
  arm,
  status,
  epoch,
  successRate,
}: Progress): SearchAttributeUpdatePair[] {
  return [
    { key: searchAttributeKeys.experiment, value: experiment },
    { key: searchAttributeKeys.arm, value: arm },
    { key: searchAttributeKeys.status, value: status },
    { key: searchAttributeKeys.epoch, value: epoch },
    { key: searchAttributeKeys.successRate, value: successRate },
  ];
}
