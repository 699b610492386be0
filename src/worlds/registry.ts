import type { WorldSettings } from './settings.ts';
import { createToolbox } from './toolbox/toolbox.ts';
import type { World } from './world.ts';

/** The worlds that an experiment file can name by `world.type`. */
export function createWorld(settings: WorldSettings): World {
  switch (settings.type) {
    // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- so far there is one world
    case 'toolbox':
      return createToolbox(settings);
  }
}
