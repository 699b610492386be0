import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { World } from '../world.ts';
import type { ExternalSettings } from './settings.ts';

/** Worlds from outside that this process may load: name -> package name or path. */
export type AllowedWorlds = ReadonlyMap<string, string>;

/**
 * Reads the list of the environment variable GENENV_WORLDS: `name=package-or-path`, separated by commas.
 * @throws InvalidConfig naming the variable, the entry and the expected form
 */
export function allowedWorlds(list: string | undefined): AllowedWorlds {
  const entries = (list ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return new Map(
    entries.map((entry) => {
      const [, name, module] = /^([A-Za-z0-9._-]{1,80})=(.+)$/.exec(entry) ?? [];
      if (name === undefined || module === undefined)
        throw new InvalidConfig(
          `GENENV_WORLDS: got ${JSON.stringify(entry)}; expected name=package or name=path, separated by commas`,
        );
      return [name, module];
    }),
  );
}

/**
 * Loads a world by its name on the list, so an experiment file never chooses code.
 * @throws InvalidConfig for a name that is not on the list, a module that is not a world, and settings that
 * the world rejects
 */
export async function loadExternal(
  { name, settings }: ExternalSettings,
  allowed: AllowedWorlds,
): Promise<World> {
  const module = allowed.get(name);
  if (module === undefined) {
    const allowedText =
      allowed.size === 0
        ? 'this process allows none'
        : `this process allows ${[...allowed.keys()].join(', ')}`;
    throw new InvalidConfig(
      `experiment: world.name: got ${JSON.stringify(name)}; ${allowedText} (its environment variable GENENV_WORLDS, name=package or name=path, separated by commas)`,
    );
  }
  const create = await importFactory(name, module);
  let world: unknown;
  try {
    world = await create(settings);
  } catch (error) {
    throw new InvalidConfig(
      `experiment: world.settings: the world ${JSON.stringify(name)} refuses them: ${messageOf(error)}`,
      { cause: error },
    );
  }
  const missing = Object.entries(requiredMembers).filter(
    ([member, type]) => typeOf((world as Record<string, unknown> | null | undefined)?.[member]) !== type,
  );
  if (missing.length > 0)
    throw new InvalidConfig(
      `GENENV_WORLDS: ${name}=${module}: its world lacks ${missing.map(([member, type]) => `${member} (${type})`).join(', ')}; src/worlds/world.ts says what a world has`,
    );
  return world as World;
}

type Factory = (settings: ExternalSettings['settings']) => unknown;

async function importFactory(name: string, module: string): Promise<Factory> {
  // A path is relative to the working directory; anything else is an installed package.
  const address = /^\.{0,2}\//.test(module) ? pathToFileURL(resolve(module)).href : module;
  let exported: { createWorld?: unknown };
  try {
    exported = (await import(address)) as { createWorld?: unknown };
  } catch (error) {
    throw new InvalidConfig(`GENENV_WORLDS: ${name}=${module} does not load: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (typeof exported.createWorld !== 'function')
    throw new InvalidConfig(`GENENV_WORLDS: ${name}=${module} exports no function createWorld(settings)`);
  return exported.createWorld as Factory;
}

const requiredMembers: Record<RequiredKeys<World>, string> = {
  name: 'string',
  vocabulary: 'array',
  baseTasks: 'function',
  heldOutTasks: 'function',
  environmentPrompt: 'function',
  parseTask: 'function',
  agentPrompt: 'function',
  kind: 'function',
  difficulty: 'function',
  latents: 'function',
  score: 'function',
  referenceAnswer: 'function',
  randomAnswer: 'function',
  renderTask: 'function',
  renderAnswer: 'function',
  warmUpCorpus: 'function',
};

type RequiredKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? never : Key }[keyof T];

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
