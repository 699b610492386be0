import { createChainOps } from './chainops/chainops.ts';
import type { WorldSettings } from './settings.ts';
import { createToolbox } from './toolbox/toolbox.ts';
import type { World } from './world.ts';

/** The worlds that an experiment file can name by `world.type`. */
export function createWorld(settings: WorldSettings): World {
  switch (settings.type) {
    case 'toolbox':
      return createToolbox(settings);
    case 'chainops':
      return createChainOps(settings);
  }
}
