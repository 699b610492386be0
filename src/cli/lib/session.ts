import { isDeepStrictEqual } from 'node:util';
import type { Client, Connection } from '@temporalio/client';
import type { EmbeddedStack } from '../../dev-stack/dev-stack.ts';
import { StackInUse } from '../../dev-stack/record.ts';
import type { StackAddresses } from '../../dev-stack/record.ts';
import type { StackNeeds } from '../../dev-stack/stack-needs.ts';
import { combineVllm, vllmText } from '../../dev-stack/vllm-settings.ts';
import { addressOf } from '../../temporal/connection-problem.ts';
import { readConnectionSettings } from '../../temporal/connection-settings.ts';
import type { ConnectionSettings } from '../../temporal/connection-settings.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { clientOptions } from './client-options.ts';
import { connect } from './connect.ts';
import type { Interruption } from './interruption.ts';
import type { TemporalOptions } from './options.ts';
import type { FindServer } from './temporal-source.ts';
import { createStack, runningStack, waitForStack } from './stack.ts';

export type ExternalTemporal = ConnectionSettings;

/**
 * Variables that select a server other than the embedded one. The mere existence of a profile file does not.
 */
const TARGET_VARIABLES = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'] as const;

/**
 * The Temporal server that options or environment name, read as the Temporal CLI reads them (address,
 * namespace, TLS, API key, profiles); null if they name none, which means the embedded one.
 * @throws InvalidConfig for a profile that does not exist, or files that are missing
 */
export function externalTemporal(options: TemporalOptions, env: NodeJS.ProcessEnv): ExternalTemporal | null {
  const target =
    options.address ??
    options.profile ??
    TARGET_VARIABLES.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  if (target === undefined) {
    if (options.namespace === undefined) return null;
    throw new CliError(
      `--namespace: got ${JSON.stringify(options.namespace)} without --address or --profile; ` +
        'the embedded server has the namespace "default"',
      exitCodes.badInput,
    );
  }
  const settings = readConnectionSettings(env, { profile: options.profile });
  if (options.address !== undefined) settings.connectionOptions.address = options.address;
  return { ...settings, namespace: options.namespace ?? settings.namespace };
}

/** What a session is opened for. */
export interface SessionUse {
  needs: StackNeeds;
  /** Id of the workflow that is followed. */
  own: string;
  /** Whether workflows that were interrupted earlier are left as they are, instead of continuing now. */
  only?: boolean;
}

/** A connection to Temporal, and the stack behind it if this process runs it. */
export interface Session {
  client: Client;
  /** Null if it is unknown, or does not run. */
  ui: string | null;
  /** Address of the dashboard, without its token; absent if this process serves none. */
  dashboard?: string;
  /** Whether the server is that of this home's stack. */
  isEmbedded: boolean;
  /** Whether this process runs the stack. */
  ownsStack: boolean;
  /** Resolves if the stack cannot be kept running; never for a stack of another process. */
  lost: Promise<Error>;
  /**
   * Stops the stack if this process runs it. The connection stays open until the process ends: closing it
   * during a retry throws from a timer.
   */
  close(hurry: AbortSignal): Promise<void>;
}

const neverLost = new Promise<Error>(() => undefined);

/**
 * Connects to the external server if there is one, else to the stack that `genenv up` left running, else
 * starts a stack. Undefined if a stop was requested meanwhile.
 */
export async function openSession(
  external: ExternalTemporal | null,
  context: CliContext,
  interruption: Interruption,
  use: SessionUse,
): Promise<Session | undefined> {
  if (external !== null) {
    if (use.only === true) throw servesOthers(`the server at ${addressOf(external.connectionOptions)}`);
    context.print(`Connecting to Temporal at ${addressOf(external.connectionOptions)} ...`);
    const client = await interruption.unlessStopped(connect(external, context));
    return (
      client && {
        client,
        ui: null,
        isEmbedded: false,
        ownsStack: false,
        lost: neverLost,
        close: () => Promise.resolve(),
      }
    );
  }
  try {
    await clientOptions(context.env);
    return await openOwnStack(createStack(context, 'run', use), interruption, context);
  } catch (error) {
    if (!(error instanceof StackInUse)) throw error;
    return joinStack(error, context, interruption, use);
  }
}

async function openOwnStack(
  stack: EmbeddedStack,
  interruption: Interruption,
  context: CliContext,
): Promise<Session | undefined> {
  try {
    const addresses = await interruption.unlessStopped(stack.start());
    if (addresses === undefined) {
      await stack.stop(interruption.hurry);
      return undefined;
    }
    const { temporal, namespace, ui } = addresses;
    const client = await connect({ connectionOptions: { address: temporal }, namespace }, context);
    return {
      client,
      ui,
      isEmbedded: true,
      ownsStack: true,
      lost: stack.givenUp,
      close: (hurry) => stack.stop(hurry),
    };
  } catch (error) {
    await stack.stop(interruption.hurry);
    throw error instanceof StackInUse ? error : new CliError((error as Error).message);
  }
}

/** Another process runs the stack: that of `genenv up` may be used, that of a run may not. */
async function joinStack(
  inUse: StackInUse,
  context: CliContext,
  interruption: Interruption,
  { needs, only }: SessionUse,
): Promise<Session | undefined> {
  if (inUse.record.owner?.command !== 'up') throw new CliError(inUse.message, exitCodes.busy);
  if (only === true) throw servesOthers('the stack of `genenv up`');
  context.print(`Using the stack of \`genenv up\` (process ${inUse.record.owner.pid}).`);
  const record = await waitForStack(homeFolder(context.env), interruption.stop);
  if (interruption.stop.aborted) return undefined;
  if (!record?.addresses)
    throw new CliError('the stack of `genenv up` ended before it was ready; see `genenv doctor`');
  requireServices(record.addresses, needs);
  const { temporal, namespace, ui } = record.addresses;
  const client = await connect({ connectionOptions: { address: temporal }, namespace }, context);
  return {
    client,
    ui,
    isEmbedded: true,
    ownsStack: false,
    lost: neverLost,
    close: () => Promise.resolve(),
  };
}

const servesOthers = (what: string): CliError =>
  new CliError(
    `--only: ${what} is not of this command, which ends no runs there; \`npx genenv cancel\` ends one`,
    exitCodes.badInput,
  );

/** @throws CliError if the stack that runs lacks something */
export function requireServices({ policyServer, vllm }: StackAddresses, needs: StackNeeds): void {
  const remedy =
    'end it with `genenv down` and start it with the file, `genenv up FILE`, or without it use `genenv run FILE`, ' +
    'which starts what it needs';
  if (needs.policyServer && policyServer === null)
    throw new CliError(`the stack of \`genenv up\` runs no policy server; ${remedy}`, exitCodes.busy);
  if (needs.vllm === null) return;
  if (vllm === null) throw new CliError(`the stack of \`genenv up\` runs no vLLM; ${remedy}`, exitCodes.busy);
  const combined = combineVllm(vllm.settings, needs.vllm);
  if (!isDeepStrictEqual(combined, vllm.settings))
    throw new CliError(
      `the stack of \`genenv up\` runs vLLM with ${vllmText(vllm.settings)}, and this file needs it with ` +
        `${vllmText(needs.vllm)}; ${remedy}, or set GENENV_HOME to another folder for a stack of its own`,
      exitCodes.busy,
    );
}

/** The server that options or environment name, else the embedded one if it runs, else null. */
function reachableTemporal(options: TemporalOptions, { env }: CliContext): Reachable | null {
  const external = externalTemporal(options, env);
  if (external !== null) return { ...external, ui: null };
  const addresses = runningStack(homeFolder(env))?.addresses ?? null;
  if (addresses === null) return null;
  const { temporal: address, namespace, ui } = addresses;
  return { connectionOptions: { address }, namespace, ui };
}

type Reachable = ExternalTemporal & { ui: string | null };

/**
 * The server that options or environment name, else the embedded one if it runs, else null: most commands can
 * answer from files. @throws CliError if the server does not answer
 */
export async function connectIfReachable(
  options: TemporalOptions,
  context: CliContext,
): Promise<(Client & { connection: Connection }) | null> {
  const target = reachableTemporal(options, context);
  return target === null ? null : connect(target, context);
}

/** Finds the server of `connectIfReachable` again and again: a stack may start later, or again at another port. */
export function serverFinder(options: TemporalOptions, context: CliContext): FindServer {
  let connected: { address: string; client: Client } | undefined;
  return async () => {
    const target = reachableTemporal(options, context);
    if (target === null) return null;
    const address = addressOf(target.connectionOptions);
    if (connected?.address !== address) connected = { address, client: await connect(target, context) };
    return { client: connected.client, ui: target.ui };
  };
}
