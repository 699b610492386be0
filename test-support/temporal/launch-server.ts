import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineFolder, repository } from '../../infra/setup/locations.mjs';
import { TestProcess } from '../processes.ts';
import { dynamicConfig, serverConfig, servicesOf } from './server-config.ts';
import type { ServerParts } from './server-config.ts';

const executable = (): string => join(engineFolder('temporal-server'), 'bin/temporal-server');

/**
 * Starts a Temporal server of the engine `temporal-server`.
 * @param folder for its configuration and its log
 * @param settings dynamic configuration, `name=value`, beside that of infra/temporal
 */
export function launchServer(
  folder: string,
  parts: ServerParts,
  settings: readonly string[] = [],
): TestProcess {
  const [config, dynamic] = [join(folder, 'server.yaml'), join(folder, 'dynamic.yaml')];
  writeFileSync(dynamic, dynamicConfig(settings));
  writeFileSync(config, serverConfig(parts, dynamic), { mode: 0o600 });
  // By default the server starts without `internal-frontend`.
  const services = servicesOf(parts).flatMap((service) => ['--service', service]);
  const args = ['--config-file', config, '--allow-no-auth', 'start', ...services];
  return new TestProcess(executable(), args, {
    env: process.env,
    cwd: repository,
    log: join(folder, 'temporal.log'),
  });
}
