import { InvalidConfig } from '../contracts/invalid-config.ts';
import { createCalls } from './calls/calls.ts';
import { createChainOps } from './chainops/chainops.ts';
import { createLanguage } from './language/language.ts';
import { createMiniDesk } from './minidesk/minidesk.ts';
import type { WorldSettings } from './settings.ts';
import { createToolbox } from './toolbox/toolbox.ts';
import { createTravel } from './travel/travel.ts';
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
    case 'external':
      throw new InvalidConfig(
        `experiment: world.type: got "external"; the world ${settings.name} is loaded by a worker that allows it, not here`,
      );
  }
}
