import { callsForm, createCalls } from './calls/calls.ts';
import { allowedWorlds, loadExternal } from './external/load-external.ts';
import { createLanguage } from './language/language.ts';
import { readOwnTasks } from './language/own-tasks.ts';
import { createWorld } from './registry.ts';
import type { WorldSettings } from './settings.ts';
import { createTravel, travelForm } from './travel/travel.ts';
import type { World } from './world.ts';
import { readWritten } from './written/written-world.ts';

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
    if (settings.type === 'language') return createLanguage(settings, await readOwnTasks(settings));
    if (settings.type === 'calls')
      return createCalls(settings, await readWritten(callsForm(settings), settings));
    if (settings.type === 'travel') return createTravel(settings, await readWritten(travelForm(), settings));
    return createWorld(settings);
  };
}
