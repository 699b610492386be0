import { allowedWorlds, loadExternal } from './external/load-external.ts';
import { createLanguage } from './language/language.ts';
import { readOwnTasks } from './language/own-tasks.ts';
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
  return async (settings) => {
    if (settings.type === 'external') return loadExternal(settings, allowed);
    return settings.type === 'language' ? createLanguage(settings, await readOwnTasks(settings)) : createWorld(settings);
  };
}
