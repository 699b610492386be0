/** Batches that an update has nothing to learn from, found before a trainer is started for them. */
import type { Experiment } from '../config/experiment.ts';
import type { PolicyRole } from '../types/run-state.ts';
import type { JobResult } from '../types/training-job.ts';
import { activeTokens } from './job-settings.ts';
import type { TrainingRecord } from './job-settings.ts';

/** What a job says of its update, besides metrics. */
export type UpdateSummary = Pick<JobResult, 'steps' | 'steps_done' | 'skipped' | 'skipped_steps' | 'kl'>;

interface StepSignal {
  weightedTokens: number;
  informativeGroups: Set<string>;
}

/**
 * Watches the records of a batch as they are stored, by the rules of the trainer (`skip_reason` in
 * trainer/genenv_trainer/training.py): a step without weighted tokens, or with too few groups whose advantages
 * differ from 0, changes nothing.
 */
export class LearnableBatch {
  readonly #steps: StepSignal[] = [];
  readonly #minInformativeGroups: number;

  /** @param minInformativeGroups 0 for a batch without groups */
  constructor(minInformativeGroups: number) {
    this.#minInformativeGroups = minInformativeGroups;
  }

  async *watch(records: AsyncIterable<TrainingRecord>): AsyncGenerator<TrainingRecord> {
    for await (const record of records) {
      this.#add(record);
      yield record;
    }
  }

  /** What the trainer would say of it; null if there is something to learn from. */
  skipped(): UpdateSummary | null {
    const reasons = this.#steps.map((step) => this.#skipReason(step));
    if (!reasons.every((reason) => reason !== null)) return null;
    const counts: Record<string, number> = {};
    for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
    return {
      steps: reasons.length,
      steps_done: 0,
      skipped: reasons[0] ?? 'empty_batch',
      skipped_steps: counts,
      kl: { before: null, after: null, rule: 'none' },
    };
  }

  #add({ step, group_id, advantage, weight, mask }: TrainingRecord): void {
    while (this.#steps.length <= step) this.#steps.push({ weightedTokens: 0, informativeGroups: new Set() });
    const signal = this.#steps[step]!;
    signal.weightedTokens += weight * activeTokens(mask);
    if (advantage !== 0) signal.informativeGroups.add(group_id);
  }

  #skipReason({ weightedTokens, informativeGroups }: StepSignal): string | null {
    if (weightedTokens === 0) return 'empty_batch';
    return informativeGroups.size < this.#minInformativeGroups ? 'too_few_informative_groups' : null;
  }
}

/**
 * Whether a policy that has nothing to learn from is kept as it is: no trainer is started, and no new name is
 * published for the same bytes. Runs of models from scratch on the embedded server began when such an update
 * was a job of the trainer like any other. Their ledgers name its output, a policy of that epoch and a trainer
 * state, so it stays one: the same file gives the same ledger.
 */
export function keepsPolicyWithoutSignal(experiment: Experiment, role: PolicyRole): boolean {
  return experiment.serving.type !== 'embedded' || experiment[role].model.type === 'pretrained';
}
