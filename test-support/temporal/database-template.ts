import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { cacheRoot, engineFolder, repository, temporalPath } from '../../infra/setup/locations.mjs';
import { run } from '../../infra/setup/run-command.mjs';
import { buildingFolder } from '../../infra/setup/unfinished.mjs';
import { freePort } from '../free-port.ts';
import { until } from '../processes.ts';
import { launchServer } from './launch-server.ts';
import { Postgresql, postgresqlUser } from './postgresql.ts';
import { onPostgresql, servicePorts } from './server-config.ts';

const script = (name: string): string => join(repository, 'infra/temporal', name);
const scripts = ['setup-schema.sh', 'create-namespace.sh'].map(script);

/** Temporal's databases in PostgreSQL; `copyOf` names their copies. */
export const databases = ['temporal', 'temporal_visibility'] as const;
export const copyOf = (database: string, copy: string): string => `${database}_${copy}`;
/** Suffix of the copies that nothing has been written to. */
export const unused = 'unused';

/**
 * A folder of PostgreSQL with what the scripts of infra/temporal make: databases, schemas, and the namespace
 * `default`; and a copy of both databases. It is made once for each version of engines and scripts, and
 * stacks start on copies of it.
 */
export async function databaseTemplate(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of scripts) hash.update(readFileSync(file));
  for (const engine of ['postgresql', 'temporal-server'] as const) hash.update(engineFolder(engine));
  const template = join(cacheRoot(), `temporal-database-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(template)) return template;
  const building = buildingFolder(template);
  try {
    const folder = join(building, 'postgresql');
    const postgresql = await Postgresql.create(folder);
    try {
      await setUpSchema(postgresql);
      await createNamespace(postgresql, building);
      for (const name of databases)
        await postgresql.sql(`create database ${copyOf(name, unused)} template ${name}`);
    } finally {
      await postgresql.stop();
    }
    // Another process may have made it meanwhile.
    if (!existsSync(template)) renameSync(folder, template);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
  return template;
}

/** Makes or updates Temporal's databases by the script that infra/compose.yaml runs. */
export async function setUpSchema(postgresql: Postgresql): Promise<void> {
  await run('sh', [scripts[0]!], {
    env: {
      PATH: `${join(engineFolder('temporal-server'), 'bin')}${delimiter}${process.env.PATH ?? ''}`,
      SQL_HOST: '127.0.0.1',
      SQL_PORT: String(postgresql.port),
      SQL_USER: postgresqlUser,
      SQL_PASSWORD: postgresql.password,
    },
  });
}

async function createNamespace(postgresql: Postgresql, folder: string): Promise<void> {
  const port = await freePort();
  const server = launchServer(folder, {
    port,
    ports: await servicePorts(),
    persistence: onPostgresql(postgresql.port, postgresql.password, postgresqlUser),
  });
  const create = (): Promise<boolean> =>
    run('sh', [scripts[1]!], {
      env: {
        PATH: `${dirname(temporalPath())}${delimiter}${process.env.PATH ?? ''}`,
        TEMPORAL_ADDRESS: `127.0.0.1:${port}`,
        TEMPORAL_NAMESPACE: 'default',
        RETENTION: '60d',
      },
      timeoutSeconds: 30,
    }).then(
      () => true,
      () => false,
    );
  try {
    await until(create, 120_000, 'the namespace');
  } finally {
    await server.stop();
  }
}
