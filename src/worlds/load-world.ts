import { allowedWorlds, loadExternal } from './external/load-external.ts';
import { createWorld } from './registry.ts';
import type { WorldSettings } from './settings.ts';
import type { World } from './world.ts';

/** Makes the world that an experiment file describes. @throws InvalidConfig */
export type LoadWorld = (settings: WorldSettings) => Promise<World>;

/**
 * Worlds of this project, and those from outside that the list allows (the environment variable GENENV_WORLDS).
 * @throws InvalidConfig for a list that cannot be read
 */
export function worldLoader(list: string | undefined): LoadWorld {
  const allowed = allowedWorlds(list);
  return async (settings) => (settings.type === 'external' ? loadExternal(settings, allowed) : createWorld(settings));
}
