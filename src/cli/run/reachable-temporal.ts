import type { Client, Connection } from '@temporalio/client';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { runningStack } from '../stack/running-stack.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { connect } from './session.ts';
import { externalTemporal } from './temporal-target.ts';

/**
 * The server that was asked for, else the embedded one where it runs, else none: the files tell most.
 * @throws CliError where a server that should be there does not answer
 */
export async function reachableTemporal(
  options: TemporalOptions,
  { env }: CliContext,
): Promise<(Client & { connection: Connection }) | null> {
  const addresses = runningStack(homeFolder(env))?.addresses ?? null;
  const embedded =
    addresses === null
      ? null
      : { connectionOptions: { address: addresses.temporal }, namespace: addresses.namespace };
  const target = externalTemporal(options, env) ?? embedded;
  return target === null ? null : connect(target);
}
