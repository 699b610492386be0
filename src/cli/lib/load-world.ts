import { dataFolders } from '../../config/permitted-folders.ts';
import { worldLoader } from '../../worlds/registry.ts';
import type { LoadWorld } from '../../worlds/registry.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';

/** Loads worlds as a worker of this environment does. */
export const loadWorldAsWorker = ({ env }: CliContext): LoadWorld =>
  worldLoader(env.GENENV_WORLDS, dataFolders(env.GENENV_DATA, homeFolder(env)));
