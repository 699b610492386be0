import type { WorldSettings } from '../contracts/experiment.ts';
import { createToolbox } from './toolbox/toolbox.ts';
import type { World } from './world.ts';

/** The worlds that an experiment file can name by `world.type`. */
export function createWorld(settings: WorldSettings): World {
  const makers = { toolbox: createToolbox };
  return makers[settings.type](settings);
}
