/** How clients and workers reach Temporal: address, namespace, TLS and API key. */
import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { readSecret } from '../config/secrets.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';

export const apiKeyVariable = 'TEMPORAL_API_KEY';

export interface ConnectionSettings {
  /** `apiKey` is the one of now; `readApiKey` reads it again. */
  connectionOptions: Omit<ConnectionOptions, 'apiKey' | 'credentials'> & { apiKey?: string };
  namespace: string;
  /** The key as it is now, where a file holds it; undefined if none does. */
  readApiKey?: () => string;
}

/**
 * Reads the connection as the Temporal CLI does: `TEMPORAL_*` variables over a profile of a file; and
 * `TEMPORAL_API_KEY_FILE`, the file of a key, which may be replaced at any time.
 * @throws InvalidConfig naming the profile, and what is wrong: a file that is missing, half a certificate
 */
export function readConnectionSettings(
  environment: NodeJS.ProcessEnv,
  { profile }: { profile?: string | undefined } = {},
): ConnectionSettings {
  const overrideEnvVars = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const fileKey = readSecret(environment, apiKeyVariable);
  if (fileKey !== undefined) overrideEnvVars[apiKeyVariable] = fileKey;
  const { connectionOptions, namespace = 'default' } = load(overrideEnvVars, profile, environment);
  requireBothOfPair(overrideEnvVars);
  const { apiKey, ...options } = connectionOptions;
  const isFromFile = environment[apiKeyVariable] === undefined && fileKey !== undefined;
  return {
    connectionOptions: { ...options, ...(typeof apiKey === 'string' && { apiKey }) },
    namespace,
    ...(isFromFile && { readApiKey: () => readSecret(environment, apiKeyVariable) ?? '' }),
  };
}

function load(
  overrideEnvVars: Record<string, string>,
  profile: string | undefined,
  environment: NodeJS.ProcessEnv,
): ReturnType<typeof loadClientConnectConfig> {
  try {
    return loadClientConnectConfig({ overrideEnvVars, ...(profile === undefined ? {} : { profile }) });
  } catch (error) {
    const name = profile ?? environment.TEMPORAL_PROFILE ?? 'default';
    throw new InvalidConfig(
      `Temporal profile ${JSON.stringify(name)}: ${(error as Error).message}; ` +
        '`temporal config list` shows the profiles there are',
    );
  }
}

const pair = ['TEMPORAL_TLS_CLIENT_CERT', 'TEMPORAL_TLS_CLIENT_KEY'] as const;

/** The library leaves a certificate without a key out, and the server then says only that none was sent. */
function requireBothOfPair(variables: Record<string, string>): void {
  const isSet = (name: string): boolean =>
    variables[`${name}_PATH`] !== undefined || variables[`${name}_DATA`] !== undefined;
  const [certificate, key] = pair.map(isSet);
  if (certificate === key || variables.TEMPORAL_PROFILE !== undefined) return;
  const [present, absent] = certificate === true ? pair : pair.toReversed();
  throw new InvalidConfig(
    `${present}_PATH: is set without ${absent}_PATH; set both, the client's certificate and its key`,
  );
}
