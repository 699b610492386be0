import { join } from 'node:path';
import { engineEnvironment, engines } from '../../infra/setup/locations.mjs';
import type { Engine } from '../../infra/setup/locations.mjs';
import { environmentReady } from '../../infra/setup/virtual-environment.mjs';

/**
 * The Python of an engine that set-up has installed; null where it has not, or where no engine has that name.
 */
export async function enginePython(engine: string): Promise<string | null> {
  if (!Object.hasOwn(engines, engine)) return null;
  const environment = engineEnvironment(engine as Engine);
  return (await environmentReady(environment)) ? join(environment, 'bin', 'python') : null;
}
