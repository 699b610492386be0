/** What phases are given, whatever they do. */
import type { ReadDataFile } from '../store/data-files.ts';
import type { OnDamage } from '../store/errors.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { PhaseCache } from '../store/phase-cache.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { ActivityContext } from './activity-context.ts';

/** What every phase builds on: results by the hash of their inputs, and the world of the experiment. */
export interface PhaseStorage {
  store: ObjectStore;
  keys: PhaseCache;
  loadWorld: LoadWorld;
  /** Reads a file that an experiment names. */
  readDataFile: ReadDataFile;
  /** Called for each damaged file that was handled. */
  onDamage: OnDamage;
  /** Phases only find what they have recorded, and do nothing; absent in a worker's own dependencies. */
  recordedOnly?: true;
}

/** The context of the activity attempt that is running. */
export interface HasActivityContext {
  activityContext: () => ActivityContext;
}
