import { dataFileReader } from '../store/data-files.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { createAlfworld } from './alfworld/alfworld.ts';
import { callsDefinition, createCalls } from './calls/calls.ts';
import { createChainOps } from './chainops/chainops.ts';
import { allowedWorlds, loadExternal } from './external/load-external.ts';
import { readJsonTasks } from './json-tasks/json-task-world.ts';
import { createLanguage, readLanguageTasks } from './language/language.ts';
import { createMiniDesk } from './minidesk/minidesk.ts';
import { createPrograms } from './programs/programs.ts';
import { createSearch } from './search/search.ts';
import { createServices } from './services/services.ts';
import type { WorldSettings } from './settings.ts';
import { createToolbox } from './toolbox/toolbox.ts';
import { createTravel, travelDefinition } from './travel/travel.ts';
import type { World } from './world.ts';

/**
 * The worlds of this project that an experiment file can name by `world.type`.
 * @throws InvalidConfig for one from outside, which only `worldLoader` loads
 */
export function createWorld(settings: WorldSettings): World {
  switch (settings.type) {
    case 'toolbox':
      return createToolbox(settings);
    case 'chainops':
      return createChainOps(settings);
    case 'minidesk':
      return createMiniDesk(settings);
    case 'language':
      return createLanguage(settings);
    case 'calls':
      return createCalls(settings);
    case 'travel':
      return createTravel(settings);
    case 'services':
      return createServices(settings);
    case 'programs':
      return createPrograms(settings);
    case 'alfworld':
      return createAlfworld(settings);
    case 'search':
      return createSearch(settings);
    case 'external':
      throw new InvalidConfig(
        `experiment: world.type: got "external"; the world ${settings.name} is loaded by a worker that allows it, not here`,
      );
  }
}

/** Makes the world that an experiment file describes. @throws InvalidConfig */
export type LoadWorld = (settings: WorldSettings) => Promise<World>;

/**
 * Worlds of this project, and those from outside that the list allows (the environment variable
 * GENENV_WORLDS).
 * @param folders that tasks of users may be in
 * @throws InvalidConfig for a list that cannot be read
 */
export function worldLoader(list: string | undefined, folders: readonly string[] = []): LoadWorld {
  const allowed = allowedWorlds(list);
  const readDataFile = dataFileReader(folders);
  return async (settings) => {
    if (settings.type === 'external') return loadExternal(settings, allowed);
    if (settings.type === 'language')
      return createLanguage(settings, await readLanguageTasks(settings, readDataFile));
    if (settings.type === 'calls')
      return createCalls(settings, await readJsonTasks(callsDefinition(settings), settings, readDataFile));
    if (settings.type === 'travel')
      return createTravel(settings, await readJsonTasks(travelDefinition(), settings, readDataFile));
    return createWorld(settings);
  };
}
