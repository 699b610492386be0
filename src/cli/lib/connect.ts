import { Client, Connection } from '@temporalio/client';
import { addressOf, connectionProblem } from '../../temporal/connection-problem.ts';
import type { ConnectionSettings } from '../../temporal/connection-settings.ts';
import { directIfLocal } from '../../temporal/direct-connection.ts';
import { repeatRequests } from '../../temporal/request-retries.ts';
import { CliError } from '../context.ts';
import type { CliContext } from '../context.ts';
import { clientOptions } from './client-options.ts';

/** Longer than all attempts of `repeatRequests` take. */
const REQUEST_MS = 60_000;

/** @throws CliError if the server does not answer, or refuses; no connection is left open then */
export async function connect(
  { connectionOptions, namespace, readApiKey }: ConnectionSettings,
  { env }: Pick<CliContext, 'env'>,
): Promise<Client & { connection: Connection }> {
  const options = await clientOptions(env);
  let connection: Connection | undefined;
  try {
    connection = Connection.lazy({
      connectTimeout: '10s',
      interceptors: [repeatRequests],
      ...directIfLocal(connectionOptions),
      ...(readApiKey && { apiKey: readApiKey }),
    });
    await connection.ensureConnected();
    // A server may greet whoever comes, and refuse everything else.
    const { workflowService } = connection;
    await connection.withDeadline(Date.now() + REQUEST_MS, () =>
      workflowService.describeNamespace({ namespace }),
    );
    return Object.assign(new Client({ ...options, connection, namespace }), { connection });
  } catch (error) {
    await connection?.close();
    const problem = await connectionProblem(connectionOptions, error);
    throw new CliError(`Temporal at ${addressOf(connectionOptions)} cannot be used: ${problem}`);
  }
}
