import { changedFields } from '../../config/retune.ts';
import { fileRefs, mapShards } from '../../epochs/shards.ts';
import { openRun } from '../../runs/ledger-entry.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { NightPlan, Verdicts } from '../../types/nightly-inputs.ts';
import { InvalidInput } from '../../validation/checked-input.ts';
import type { Dependencies } from '../dependencies.ts';
import { createEvaluatePolicy } from '../experiment/evaluate-policy.ts';
import { createPlanPromotionTrial } from './plan-promotion-trial.ts';

/** Id of a night's experiment. */
export const nightRunId = (name: string, night: number): string =>
  `${name}-night-${String(night).padStart(4, '0')}`;

/**
 * The settings of the promotion trial that a night was opened with. The first call records those of its plan,
 * and every later call returns them. A night that an earlier version opened has no record: it continues with
 * the settings of the first plan that is seen, which is its workflow's.
 */
export function settingsAtOpening(
  { keys }: Dependencies,
  { nightly, night, experiment }: NightPlan,
): Promise<NightPlan['nightly']> {
  const key = {
    experiment: `_nightly-${nightly.name}`,
    epoch: night,
    phase: 'open',
    inputHash: hashOf(experiment),
  };
  return keys.record(key, nightly);
}

/**
 * Checks that a plan is that of the curriculum's next night, by the curriculum's record, the night's run and
 * what the night was opened with: whoever schedules an activity could make up another.
 * @throws InvalidInput naming the field
 */
export async function requirePlanOfNextNight(dependencies: Dependencies, plan: NightPlan): Promise<void> {
  const { nightlyFolder, runFolder } = dependencies;
  const { nightly, night, id, experiment, from } = plan;
  const { name } = nightly;
  const refuse = (field: string, expected: string): never => {
    throw new InvalidInput(`night ${night} of ${name}: ${field}: expected ${expected}`);
  };
  const next = await nightlyFolder(name).next();
  if (night !== next.night) refuse('night', `${next.night}, the next one`);
  if (id !== nightRunId(name, night)) refuse('id', nightRunId(name, night));
  const started = await runFolder(id).readExperiment();
  if (started !== undefined && started.sha256 !== hashOf(experiment))
    refuse('experiment', `that of the run ${id}`);
  const start = next.standing ?? experiment.startFrom;
  if (hashOf(from) !== hashOf(start) || hashOf(experiment.startFrom) !== hashOf(start))
    refuse('from', start === null ? 'none' : `epoch ${start.epoch} of ${start.run}`);
  const changes = changedFields(await settingsAtOpening(dependencies, plan), nightly);
  if (changes !== '') refuse('nightly', `what the night was opened with (${changes})`);
}

/**
 * The verdicts on champion and candidate that were recorded after a night's last epoch; null if the night
 * brought no new epoch.
 * @param epoch the last one, for whoever asks
 * @throws InvalidInput if the run ends with another epoch
 * @throws InvalidArtifact if no verdicts are recorded
 */
export async function recordedVerdicts(
  dependencies: Dependencies,
  night: NightPlan,
  epoch: number,
): Promise<Verdicts | null> {
  const run = await openRun(dependencies.runFolder(night.id));
  const last = (await run?.ledger.head())?.line.epoch ?? run?.fork?.epoch;
  if (epoch !== last)
    throw new InvalidInput(
      `night ${night.night}: epoch: expected ${last ?? 'none'}, the last of ${night.id}`,
    );
  if (epoch <= (night.from?.epoch ?? 0)) return null;
  const trial = await createPlanPromotionTrial(dependencies)({ night, epoch });
  const { before, after, shards, ...input } = trial;
  const evaluatePolicy = createEvaluatePolicy({ ...dependencies, recordedOnly: true });
  const verdictsOn = async (agent: typeof before): Promise<Verdicts['before']> =>
    fileRefs(await mapShards(shards, (shard) => evaluatePolicy({ ...input, ...shard, agent })));
  return { before: await verdictsOn(before), after: await verdictsOn(after) };
}
