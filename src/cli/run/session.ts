import { Client, Connection } from '@temporalio/client';
import type { EmbeddedStack } from '../../dev-stack/dev-stack.ts';
import { StackInUse } from '../../dev-stack/record.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { Interruption } from '../interruption.ts';
import { ownStack } from '../stack/own-stack.ts';
import { readyStack } from '../stack/running-stack.ts';
import type { ExternalTemporal } from './temporal-target.ts';

/** A connection to Temporal, and the stack behind it where it is ours. */
export interface Session {
  client: Client;
  ui: string | null;
  /** Resolves when the stack behind it can not be kept running; never for a stack that others look after. */
  lost: Promise<Error>;
  /**
   * Stops the stack, where it is ours. The connection ends with the process: one that is closed under a retry
   * throws from a timer.
   */
  close(hurry: AbortSignal): Promise<void>;
}

const never = new Promise<Error>(() => undefined);

/**
 * Connects to the server that was asked for, else to the stack that `genenv up` left running, else brings one
 * up. Undefined where a stop was asked for meanwhile.
 */
export async function openSession(
  external: ExternalTemporal | null,
  context: CliContext,
  interruption: Interruption,
): Promise<Session | undefined> {
  if (external !== null) {
    context.print(`Connecting to Temporal at ${external.connectionOptions.address ?? 'localhost:7233'} ...`);
    const client = await interruption.unlessStopped(connect(external));
    return client && { client, ui: null, lost: never, close: () => Promise.resolve() };
  }
  try {
    return await openOwn(ownStack(context, 'run'), interruption);
  } catch (error) {
    if (!(error instanceof StackInUse)) throw error;
    return joinStack(error, context, interruption);
  }
}

async function openOwn(stack: EmbeddedStack, interruption: Interruption): Promise<Session | undefined> {
  try {
    const addresses = await interruption.unlessStopped(stack.start());
    if (addresses === undefined) {
      await stack.stop(interruption.hurry);
      return undefined;
    }
    const client = await connect({
      connectionOptions: { address: addresses.temporal },
      namespace: addresses.namespace,
    });
    return { client, ui: addresses.ui, lost: stack.givenUp, close: (hurry) => stack.stop(hurry) };
  } catch (error) {
    await stack.stop(interruption.hurry);
    throw error instanceof StackInUse ? error : new CliError((error as Error).message);
  }
}

/** Another process holds the stack: that of `genenv up` is there to be used, that of a run is the run's. */
async function joinStack(
  inUse: StackInUse,
  context: CliContext,
  interruption: Interruption,
): Promise<Session | undefined> {
  if (inUse.record.owner?.command !== 'up') throw new CliError(inUse.message, exitCodes.busy);
  context.print(`Using the stack of \`genenv up\` (process ${inUse.record.owner.pid}).`);
  const record = await readyStack(homeFolder(context.env), interruption.stop);
  if (interruption.stop.aborted) return undefined;
  if (!record?.addresses)
    throw new CliError('the stack of `genenv up` ended before it was ready; see `genenv doctor`');
  const { temporal, namespace, ui } = record.addresses;
  const client = await connect({ connectionOptions: { address: temporal }, namespace });
  return { client, ui, lost: never, close: () => Promise.resolve() };
}

export async function connect({
  connectionOptions,
  namespace,
}: ExternalTemporal): Promise<Client & { connection: Connection }> {
  try {
    const connection = await Connection.connect({ connectTimeout: '10s', ...connectionOptions });
    return Object.assign(new Client({ connection, namespace }), { connection });
  } catch (error) {
    throw new CliError(
      `Temporal at ${connectionOptions.address ?? 'localhost:7233'} does not answer: ${(error as Error).message}; check address, TLS and API key (\`genenv doctor\`)`,
    );
  }
}
