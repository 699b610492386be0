/** Where a pretrained model lies that a file names. */
import { existsSync, readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { engineModelFolder, engineModels } from '../../infra/setup/locations.mjs';
import { readJsonFile } from '../store/json-files.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

/** Begins the path of a model that set-up installs. What is hashed has this name, not a folder of one machine. */
const ENGINE = 'engine:';

/** The folder of this machine that a model's path means; for `engine:NAME`, where set-up puts that. */
export function modelFolder(path: string): string {
  return path.startsWith(ENGINE) ? (engineModelFolder(path.slice(ENGINE.length)) ?? path) : path;
}

/**
 * As `modelFolder`, for a model that is about to be read.
 * @throws InvalidConfig if an engine is not installed here
 */
export function installedModelFolder(path: string): string {
  const folder = modelFolder(path);
  if (path.startsWith(ENGINE) && !existsSync(join(folder, 'config.json')))
    throw new InvalidConfig(
      `model.path: got "${path}", which is not installed in ${folder}; run \`npm run engines -- ` +
        `${path.slice(ENGINE.length)}\` on the machines that train and serve`,
    );
  return folder;
}

/** An engine that does not exist: `<field>: got <value>; <what is allowed>`. */
export function* engineModelProblem(field: string, path: string): Generator<string> {
  if (path.startsWith(ENGINE) && !Object.hasOwn(engineModels, path.slice(ENGINE.length)))
    yield `${field}: got "${path}"; allowed: a folder, or ${Object.keys(engineModels)
      .map((name) => `"${ENGINE}${name}"`)
      .join(', ')}`;
}

/** @throws InvalidConfig, which quotes nothing of the file */
export function parseModelJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new InvalidConfig(`${file}: no JSON; put the file of the model there again`);
  }
}

/** Positions of a Hugging Face model; null if its folder does not say. @throws InvalidConfig for a torn file */
export function modelPositions(folder: string): number | null {
  const file = join(folder, 'config.json');
  if (!existsSync(file)) return null;
  return positionsIn(parseModelJson(file, readFileSync(file, 'utf8')) as ModelConfig);
}

/**
 * As `modelPositions`, for a worker: a pipe in the place of the file does not hold it up. The file may be a link,
 * as those in the cache of Hugging Face are.
 * @throws InvalidArtifact, which quotes nothing, if it is no file or no JSON
 */
export async function readModelPositions(folder: string): Promise<number | null> {
  const file = await realpath(join(folder, 'config.json')).catch(() => undefined);
  if (file === undefined) return null;
  const config = await readJsonFile<ModelConfig>(
    file,
    'Put the folder of the model there again.',
    configSchema,
  );
  return config === undefined ? null : positionsIn(config);
}

const configSchema = z.looseObject({ max_position_embeddings: z.unknown().optional() });
type ModelConfig = z.infer<typeof configSchema>;

const positionsIn = ({ max_position_embeddings: positions }: ModelConfig): number | null =>
  typeof positions === 'number' ? positions : null;
