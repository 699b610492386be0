import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { TemporalOptions } from '../temporal-options.ts';

export interface ExternalTemporal {
  connectionOptions: ConnectionOptions;
  namespace: string;
}

/** Variables that say: not the embedded server. A profile file that merely exists does not. */
const asking = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'] as const;

/**
 * The Temporal server that options or environment name, read as the Temporal CLI reads them (address,
 * namespace, TLS, API key, profiles); null where they name none, which means the embedded one.
 * @throws CliError for a profile that is not there
 */
export function externalTemporal(options: TemporalOptions, env: NodeJS.ProcessEnv): ExternalTemporal | null {
  const asked =
    options.address ??
    options.profile ??
    asking.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  if (asked === undefined) {
    if (options.namespace === undefined) return null;
    throw new CliError(
      `--namespace: got ${JSON.stringify(options.namespace)} without --address or --profile; the embedded server has the namespace "default"`,
      exitCodes.badInput,
    );
  }
  const { connectionOptions, namespace } = load(options, env);
  if (options.address !== undefined) connectionOptions.address = options.address;
  return { connectionOptions, namespace: options.namespace ?? namespace };
}

function load({ profile }: TemporalOptions, env: NodeJS.ProcessEnv): ExternalTemporal {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  try {
    const { connectionOptions, namespace } = loadClientConnectConfig({
      overrideEnvVars,
      ...(profile === undefined ? {} : { profile }),
    });
    return { connectionOptions, namespace: namespace ?? 'default' };
  } catch (error) {
    throw new CliError(
      `Temporal profile ${JSON.stringify(profile ?? env.TEMPORAL_PROFILE ?? 'default')}: ${(error as Error).message}; \`temporal config list\` shows the profiles there are`,
      exitCodes.badInput,
    );
  }
}
