import type { Experiment } from '../../config/experiment.ts';
import { parseNightly } from '../../config/nightly.ts';
import type { Nightly } from '../../config/nightly.ts';
import { changedFields } from '../../config/retune.ts';
import { mean } from '../../numerics/arithmetic.ts';
import { deriveSeed } from '../../numerics/random.ts';
import { pairedTest } from '../../numerics/tests.ts';
import type { LedgerEntry } from '../../runs/ledger-entry.ts';
import { workflowSettings } from '../../runs/settings-in-effect.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { ObjectStore } from '../../store/object-store.ts';
import type { FileRef } from '../../store/references.ts';
import type {
  CandidateInput,
  CloseNightInput,
  FailNightInput,
  NightPlan,
  NightRecord,
  NightTest,
  PromotionTrial,
  RunEpoch,
  Verdicts,
} from '../../types/nightly-types.ts';
import type { VerdictRecord } from '../../types/records.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * The night to be done, by the curriculum's own record: the next one, or the one that was interrupted or
 * failed, whose experiment is gone on with. Where the nightly file was changed under an unfinished night,
 * that night is abandoned, and the next one begins.
 * @throws InvalidConfig naming the field
 */
export function createOpenNight(dependencies: Dependencies) {
  return async ({ file }: { file: unknown }): Promise<NightPlan> => {
    const nightly = parseNightly(file);
    const folder = dependencies.nightlyFolder(nightly.name);
    for (;;) {
      const { night, standing } = await folder.next();
      const from = standing ?? nightly.experiment.startFrom;
      const experiment = experimentOf(nightly, night, from);
      const id = `${nightly.name}-night-${String(night).padStart(4, '0')}`;
      const begun = await dependencies.runFolder(id).readExperiment();
      if (begun === undefined || begun.sha256 === hashOf(experiment)) {
        const { heartbeatSeconds, maxPhaseAttempts } = experiment.durability;
        const { name, significance, evaluation, deadlineMinutes } = nightly;
        return {
          nightly: { name, significance, evaluation },
          night,
          id,
          experiment,
          from,
          deadlineMs: deadlineMinutes === null ? null : 60_000 * deadlineMinutes,
          settings: { heartbeatSeconds, maxPhaseAttempts },
        };
      }
      const reason = `the nightly file was changed before the night was closed (${changedFields(begun.experiment, experiment)}); ${id} is left as it is`;
      await folder.close({
        night,
        outcome: 'abandoned',
        reason,
        standing,
        candidate: null,
        test: null,
        time: new Date().toISOString(),
      });
    }
  };
}

/** A seed of its own for each night: one that was not promoted is not done again exactly as it was. */
function experimentOf(
  { experiment, epochsPerNight }: Nightly,
  night: number,
  from: RunEpoch | null,
): Experiment {
  const seed = night === 1 ? experiment.seed : deriveSeed(experiment.seed, 'night', night);
  return { ...experiment, seed, epochs: (from?.epoch ?? 0) + epochsPerNight, startFrom: from };
}

/**
 * Decides whether the next night starts from what this one made: unless the paired test shows that it is
 * worse. Writes that down with its figures, once: closing a night again gives the line that is there.
 */
export function createCloseNight({ store, nightlyFolder, activityContext }: Dependencies) {
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
    const { heartbeat } = activityContext();
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
  { nightly: { significance, evaluation } }: NightPlan,
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

/** Notes why a night failed. The night stays open: when it comes again, it goes on. */
export function createFailNight({ nightlyFolder }: Dependencies) {
  return async ({ night: { nightly, night, from }, reason }: FailNightInput): Promise<void> => {
    await nightlyFolder(nightly.name).note({
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

/**
 * What to evaluate at the end of a night: the agent that it started from and the one that it made, on the
 * same held-out tasks with the same seeds. These are fresh each night: an agent that was promoted by lucky
 * samples is not defended by the same ones.
 * @throws InvalidConfig where the night's run has not that epoch
 */
export function createCompareAgents({ runFolder, store, loadWorld }: Dependencies) {
  return async ({ night: { id, experiment, nightly }, epoch }: CandidateInput): Promise<PromotionTrial> => {
    const run = await runFolder(id).open<LedgerEntry>();
    const lines = (await run?.ledger.read()) ?? [];
    const [first, made] = [run?.fork?.line ?? lines[0], lines.find((line) => line.epoch === epoch)];
    if (first === undefined || made === undefined)
      throw new InvalidConfig(
        `night: ${id} has no epoch ${epoch}; its ledger ends with ${lines.at(-1)?.epoch ?? 'none'}`,
      );
    const evaluated = {
      ...experiment,
      seed: deriveSeed(experiment.seed, 'compare'),
      evaluation: { ...experiment.evaluation, ...nightly.evaluation },
    };
    const { state } = made.outputs;
    return {
      run: { id, experiment: await store.putJson(evaluated) },
      epoch,
      state,
      shards: workflowSettings(evaluated, await loadWorld(evaluated.world)).shards.evaluate,
      before: first.outputs.state.agent,
      after: state.agent,
    };
  };
}
