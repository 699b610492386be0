import type { Experiment } from '../../config/experiment.ts';
import { settingsInEffect } from '../../config/retune.ts';
import { wilsonInterval } from '../../numerics/intervals.ts';
import { mean } from '../../numerics/arithmetic.ts';
import { passAtK } from '../../numerics/tests.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { FileRef } from '../../store/references.ts';
import type { CommitInput, CommittedEpoch, Metrics } from '../../types/activity-types.ts';
import type { VerdictRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Writes the epoch's line into the ledger, once: committing the same epoch again returns the line that is
 * there. Times go beside it, into metrics.jsonl, so that the ledger stays a function of experiment file and
 * seed.
 */
export function createCommitEpoch(dependencies: Dependencies) {
  return async ({
    run,
    epoch,
    outputs,
    next,
    metrics,
    notes,
    retried,
    seconds,
  }: CommitInput): Promise<CommittedEpoch> => {
    const folder = dependencies.runFolder(run.id);
    const opened = await folder.open<LedgerEntry>();
    if (opened === undefined)
      throw new InvalidConfig(
        `run: ${folder.experimentFile} is missing; restore it, or start the experiment again`,
      );
    const experiment = await dependencies.store.json<Experiment>(run.experiment);
    const settings = settingsInEffect(experiment);
    // The trainer counts the tokens of its job under the same name.
    const all: Metrics = [
      ...metrics,
      await heldOut(dependencies, outputs.verdicts, experiment.evaluation.passAtK),
      { num_tokens: next.tokens },
    ].reduce((together, some) => ({ ...together, ...some }), {});
    const written = await opened.ledger.append({
      epoch,
      inputs: { experiment: run.experiment, settings },
      outputs: { ...outputs, state: next },
      metrics: all,
      notes,
    });
    const line = hashOf(written);
    await folder.appendMetrics({
      epoch,
      at: new Date().toISOString(),
      metrics: { ...all, 'rollouts/retried': retried },
      time: seconds,
    });
    for (const note of notes) await folder.appendEvent({ type: 'note', epoch, note });
    return { epoch, line, state: next, metrics: all, notes };
  };
}

async function heldOut(
  dependencies: Dependencies,
  files: readonly FileRef[],
  k: number | undefined,
): Promise<Metrics> {
  const counts: Counts = new Map();
  const tasks: Counts = new Map();
  for (const file of files) {
    for await (const {
      task_id,
      kind,
      difficulty,
      reward,
      solved = reward === 1,
    } of dependencies.store.records<VerdictRecord>(file)) {
      for (const name of ['eval/heldout', `eval/heldout/${kind}`, `eval/heldout_difficulty/${difficulty}`])
        count(counts, name, solved);
      count(tasks, task_id, solved);
    }
  }
  const overall = counts.get('eval/heldout');
  if (overall === undefined) return {};
  const { low, high } = wilsonInterval(overall);
  return {
    'eval/heldout_low': low,
    'eval/heldout_high': high,
    ...Object.fromEntries([...counts].map(([name, { successes, attempts }]) => [name, successes / attempts])),
    ...(k !== undefined && { 'eval/pass_at_1': meanPass(tasks, 1), 'eval/pass_at_k': meanPass(tasks, k) }),
  };
}

type Counts = Map<string, { successes: number; attempts: number }>;

function count(counts: Counts, name: string, solved: boolean): void {
  const { successes, attempts } = counts.get(name) ?? { successes: 0, attempts: 0 };
  counts.set(name, { successes: successes + Number(solved), attempts: attempts + 1 });
}

const meanPass = (tasks: Counts, k: number): number | null =>
  mean([...tasks.values()].map((task) => passAtK(task, k)));
