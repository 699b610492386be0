/** Whether the workers of this home may speak to the servers that a file names. */
import { endpointsSource } from '../../config/endpoints.ts';
import { EndpointRefused, serverResolver } from '../../inference/endpoints.ts';
import type { ServerReference } from '../../inference/endpoints.ts';
import { isObject } from '../../validation/json-schema.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';

/**
 * Says before anything starts what would otherwise hold up a run of the embedded stack.
 * @throws CliError naming the server, and the command that permits it; InvalidConfig for a list that is wrong
 */
export function requireServersPermitted(files: readonly unknown[], { env }: CliContext): void {
  const resolve = serverResolver(endpointsSource(env.GENENV_ENDPOINTS, homeFolder(env)), env);
  for (const reference of files.flatMap(serverReferences)) {
    try {
      resolve(reference);
    } catch (error) {
      if (!(error instanceof EndpointRefused)) throw error;
      throw new CliError(error.message, exitCodes.badInput);
    }
  }
}

/** Every server that a parsed file names, wherever in it: an address or a search URL, with the name of its key. */
export function serverReferences(file: unknown): ServerReference[] {
  if (Array.isArray(file)) return file.flatMap(serverReferences);
  if (!isObject(file)) return [];
  const { baseUrl = file.url, apiKeyEnv } = file;
  const inside = Object.values(file).flatMap(serverReferences);
  const addresses = [baseUrl].flat().filter((address) => typeof address === 'string');
  if (addresses.length === 0) return inside;
  return [{ baseUrl: addresses, apiKeyEnv: typeof apiKeyEnv === 'string' ? apiKeyEnv : null }, ...inside];
}
