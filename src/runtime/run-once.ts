/** Phases that run once, whatever happens: their results are recorded under the hash of their inputs. */
import type { Experiment } from '../config/experiment.ts';
import { hashOf } from '../store/canonical-json.ts';
import { InvalidArtifact, Superseded } from '../store/errors.ts';
import type { PhaseKey } from '../store/phase-cache.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { openWork, removeWork, workPath } from '../store/work-folder.ts';
import type { WorkFolder } from '../store/work-folder.ts';
import type { Run } from '../types/run-state.ts';
import type { World } from '../worlds/world.ts';
import type { PhaseStorage } from './dependencies.ts';

export interface Phase {
  experiment: Experiment;
  world: World;
  /** Hash of everything that the result depends on. */
  inputHash: string;
  /** Folder for unfinished work, created on first use and removed once the result is recorded. */
  work: () => Promise<WorkFolder>;
}

/**
 * Runs a phase of an epoch once. Its input hash holds every input but the experiment's id, so equal
 * experiments give equal results, each under its own id.
 */
export async function runPhaseOnce<Output>(
  dependencies: PhaseStorage,
  name: string,
  input: { run: Run; epoch: number; shard?: number },
  execute: (phase: Phase) => Promise<Output>,
): Promise<Output> {
  const { run, epoch, shard } = input;
  const inputHash = hashOf({ ...input, run: run.experiment });
  const key: PhaseKey = {
    experiment: run.id,
    epoch,
    phase: name,
    inputHash,
    ...(shard === undefined ? {} : { shard }),
  };
  return runOnce(dependencies, key, async (work) => {
    const experiment = await dependencies.store.json<Experiment>(run.experiment);
    const world = await dependencies.loadWorld(experiment.world);
    return execute({ experiment, world, inputHash, work });
  });
}

/**
 * Looks the key up first, so that a retry, a reset or an empty Temporal server finds what exists
 * (checked by hash, made again if damaged); otherwise runs the work and records its result under that key. An
 * attempt that a newer one has superseded takes the newer one's result, if it is there.
 * @throws InvalidArtifact if only what is recorded may be found, and nothing is
 */
export async function runOnce<Output>(
  { store, keys, recordedOnly }: PhaseStorage,
  key: PhaseKey,
  execute: (work: Phase['work']) => Promise<Output>,
): Promise<Output> {
  const lookup = (): Promise<Output | undefined> =>
    keys.lookup<Output>(key, (value) => (recordedOnly ? store.requireAll(value) : store.checkAll(value)));
  const existing = await lookup();
  if (existing !== undefined) {
    // The attempt that recorded it may have lost its bucket before it could remove its work.
    if (!recordedOnly && sharedPlace(workPath(store.root, key)) !== undefined)
      await removeWork(store.root, key);
    return existing;
  }
  if (recordedOnly)
    throw new InvalidArtifact(keys.path(key), `no result of the phase ${key.phase} is recorded`, {
      expected: key.inputHash,
    });
  let work: WorkFolder | undefined;
  const openWorkOnce = async (): Promise<WorkFolder> => {
    work ??= await openWork(store.root, key);
    // An attempt that slept until now must not repeat what another one has finished.
    if ((await keys.lookup(key)) !== undefined)
      throw new Superseded(`${work.path}: another attempt has recorded its result.`);
    return work;
  };
  let output: Output;
  try {
    output = await execute(openWorkOnce);
  } catch (error) {
    const newer = error instanceof Superseded ? await lookup() : undefined;
    if (newer === undefined) throw error;
    await work?.remove();
    return newer;
  }
  const recorded = await keys.record(key, output);
  await work?.remove();
  return recorded;
}
