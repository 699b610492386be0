import { mean } from '../coevolution/domain.ts';
import { pairedTest } from '../coevolution/paired-test.ts';
import type { CloseNightInput, NightRecord, NightTest, OpenNight, Verdicts } from '../contracts/nights.ts';
import type { VerdictRecord } from '../contracts/records.ts';
import type { FileRef } from '../contracts/refs.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { Ports } from './ports.ts';

/**
 * Decides whether the next night starts from what this one made: unless the paired test shows that it is worse. Writes that down with
 * its figures, once: closing a night again gives the line that is there.
 */
export function createCloseNight({ store, nightlyFolder, attempt }: Ports) {
  return async ({ night, epoch, outcome: ended, verdicts }: CloseNightInput): Promise<NightRecord> => {
    const { name } = night.nightly;
    const candidate = { run: night.id, epoch };
    const old = night.from ?? { run: night.id, epoch: 0 };
    const closed = { night: night.night, candidate, time: new Date().toISOString() };
    if (verdicts === null) {
      return nightlyFolder(name).close({
        ...closed,
        outcome: 'kept',
        standing: old,
        reason: `the night brought no new epoch: its experiment ended as "${ended}" at epoch ${epoch}`,
        test: null,
      });
    }
    const { heartbeat } = attempt();
    const read = (files: readonly FileRef[]): Promise<Map<string, number>> =>
      meansByTask(store, files, heartbeat);
    const test = tested(night, verdicts, await read(verdicts.before), await read(verdicts.after));
    const outcome = test.p <= test.significance ? 'kept' : 'promoted';
    return nightlyFolder(name).close({
      ...closed,
      outcome,
      standing: outcome === 'kept' ? old : candidate,
      reason: reasonOf(test),
      test,
    });
  };
}

function tested(
  { nightly: { significance, evaluation } }: OpenNight,
  verdicts: Verdicts,
  before: Map<string, number>,
  after: Map<string, number>,
): NightTest {
  const tasks = [...before.keys()].sort();
  const [old, made] = [
    tasks.map((task) => before.get(task) ?? NaN),
    tasks.map((task) => after.get(task) ?? NaN),
  ];
  return {
    ...pairedTest(old, made),
    tasks: tasks.length,
    samples: evaluation.samples,
    significance,
    before: mean(old) ?? 0,
    after: mean(made) ?? 0,
    verdicts,
  };
}

async function meansByTask(
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
  return new Map([...rewards].map(([task, all]) => [task, mean(all) ?? 0]));
}

function reasonOf({
  before,
  after,
  tasks,
  samples,
  better,
  worse,
  tied,
  p,
  significance,
}: NightTest): string {
  const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
  const verdict =
    p <= significance
      ? `worse than the standing one (one-sided sign test, p = ${p.toPrecision(2)}, at or below ${significance})`
      : `not shown to be worse (one-sided sign test, p = ${p.toPrecision(2)}, above ${significance})`;
  return `the new agent is ${verdict}: success ${percent(before)} before, ${percent(after)} now, on ${tasks} held-out tasks with ${samples} attempts each; better on ${better}, worse on ${worse}, equal on ${tied}`;
}
