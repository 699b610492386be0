import { mean } from '../../numerics/arithmetic.ts';
import { pairedTest } from '../../numerics/tests.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type { CloseNightInput, FailNightInput, NightPlan, Verdicts } from '../../types/nightly-inputs.ts';
import type { NightRecord, NightTest } from '../../types/nightly-types.ts';
import type { VerdictRecord } from '../../types/records.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordedVerdicts, requirePlanOfNextNight } from './recorded-night.ts';

/**
 * Decides whether the next night starts from this night's candidate: yes, unless the paired test shows that
 * it is worse than the champion. The decision is recorded with its figures, once: closing a night again
 * returns the recorded line. Champion, candidate and verdicts have to be those on record.
 * @throws InvalidInput for a plan, an epoch or verdicts that are not on record
 */
export function createCloseNight(dependencies: Dependencies) {
  const { store, nightlyFolder, activityContext } = dependencies;
  return async (input: CloseNightInput): Promise<NightRecord> => {
    const { night, epoch } = input;
    const folder = nightlyFolder(night.nightly.name);
    const closed = await folder.closed(night.night);
    if (closed !== undefined) return closed;
    await requirePlanOfNextNight(dependencies, night);
    const verdicts = await recordedVerdicts(dependencies, night, epoch);
    if (hashOf(input.verdicts) !== hashOf(verdicts))
      throw new InvalidInput(`night ${night.night}: verdicts: expected those that were recorded`);
    const candidate = { run: night.id, epoch };
    const champion = night.from ?? { run: night.id, epoch: 0 };
    const common = { night: night.night, candidate, time: new Date().toISOString() };
    if (verdicts === null) {
      return folder.close({
        ...common,
        outcome: 'kept',
        standing: champion,
        reason: `the night brought no new epoch: its experiment ended as "${input.outcome}" at epoch ${epoch}`,
        test: null,
      });
    }
    const test = await testCandidate(store, night, verdicts, activityContext().heartbeat);
    const isWorse = test.p <= test.significance;
    return folder.close({
      ...common,
      outcome: isWorse ? 'kept' : 'promoted',
      standing: isWorse ? champion : candidate,
      reason: describeTest(test),
      test,
    });
  };
}

/** Compares the candidate with the champion by their mean success on each held-out task. */
async function testCandidate(
  store: ObjectStore,
  { nightly: { significance, evaluation } }: NightPlan,
  verdicts: Verdicts,
  heartbeat: (details: unknown) => void,
): Promise<NightTest> {
  const championMeans = await meanRewardByTask(store, verdicts.before, heartbeat);
  const candidateMeans = await meanRewardByTask(store, verdicts.after, heartbeat);
  const tasks = [...championMeans.keys()].sort();
  const before = tasks.map((task) => championMeans.get(task) ?? NaN);
  const after = tasks.map((task) => candidateMeans.get(task) ?? NaN);
  return {
    ...pairedTest(before, after),
    tasks: tasks.length,
    samples: evaluation.samples,
    significance,
    before: mean(before) ?? 0,
    after: mean(after) ?? 0,
    verdicts,
  };
}

async function meanRewardByTask(
  store: ObjectStore,
  files: readonly FileRef[],
  heartbeat: (details: unknown) => void,
): Promise<Map<string, number>> {
  const rewards = new Map<string, number[]>();
  for (const file of files) {
    for await (const { task_id, reward } of store.records<VerdictRecord>(file))
      rewards.set(task_id, [...(rewards.get(task_id) ?? []), reward]);
    heartbeat({ tasks: rewards.size });
  }
  return new Map([...rewards].map(([task, values]) => [task, mean(values) ?? 0]));
}

function describeTest(test: NightTest): string {
  const { before, after, tasks, samples, better, worse, tied, p, significance } = test;
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const pValue = `one-sided sign test, p = ${p.toPrecision(2)}`;
  const verdict =
    p <= significance
      ? `worse than the standing one (${pValue}, at or below ${significance})`
      : `not shown to be worse (${pValue}, above ${significance})`;
  return (
    `the new agent is ${verdict}: success ${percent(before)} before, ${percent(after)} now, ` +
    `on ${tasks} held-out tasks with ${samples} attempts each; ` +
    `better on ${better}, worse on ${worse}, equal on ${tied}`
  );
}

/**
 * Records why a night failed. The night stays open: the next start of the nightly workflow resumes it. A night
 * that was closed meanwhile stays closed.
 * @throws InvalidInput for a plan that is not that of the next night
 */
export function createFailNight(dependencies: Dependencies) {
  return async ({ night: plan, reason }: FailNightInput): Promise<void> => {
    const { nightly, night, from } = plan;
    const folder = dependencies.nightlyFolder(nightly.name);
    if ((await folder.closed(night)) !== undefined) return;
    await requirePlanOfNextNight(dependencies, plan);
    await folder.note({
      night,
      outcome: 'failed',
      reason,
      standing: from,
      candidate: null,
      test: null,
      time: new Date().toISOString(),
    });
  };
}
