/** Folders that files of runs may name, by the environment of whoever runs the workers. */
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { repository } from '../../infra/setup/locations.mjs';
import { isInside, permittedPath, refusal } from '../store/data-files.ts';
import { modelFolder } from './model-folder.ts';

/** Folders of tasks and data sets. @param variable `GENENV_DATA` */
export const dataFolders = (variable: string | undefined, home: string): string[] =>
  foldersIn(variable) ?? [join(home, 'data'), join(repository, 'experiments'), join(repository, 'data')];

/** Folders of pretrained models. @param variable `GENENV_MODELS` */
export const modelFolders = (variable: string | undefined, home: string): string[] =>
  foldersIn(variable) ?? ['/models', join(home, 'models'), join(homedir(), '.cache', 'huggingface')];

/**
 * Checks that the folder of a pretrained model is one that files may name; an engine's always is. A link to it
 * from elsewhere is not: whoever owns the link could change it before a training job reads the folder.
 * @param field for errors: `agent.model.path`
 * @throws InvalidConfig
 */
export type RequireModelFolder = (field: string, path: string) => Promise<void>;

export const modelFolderCheck =
  (folders: readonly string[]): RequireModelFolder =>
  async (field, path) => {
    if (modelFolder(path) !== path) return;
    const real = await permittedPath(field, path, { folders, variable: 'GENENV_MODELS' });
    const isLinkFromElsewhere =
      real !== resolve(path) && !folders.some((folder) => isInside(resolve(folder), resolve(path)));
    if (isLinkFromElsewhere) throw refusal(field, path, `it is a link; expected the folder itself, ${real}`);
  };

const foldersIn = (variable: string | undefined): string[] | undefined =>
  variable
    ?.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => resolve(folder));
