import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { ClientOptions } from '@temporalio/client';
import { createDataConverter } from '../../temporal/data-converter.ts';
import { requireRecordedKey } from '../../temporal/key-record.ts';
import { readPayloadKeys } from '../../temporal/payload-keys.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';

/**
 * What every client of the command line is made with.
 * @throws InvalidConfig for bad payload keys, or without the one that this home's workers encrypt with
 */
export async function clientOptions(
  env: NodeJS.ProcessEnv,
): Promise<Pick<ClientOptions, 'dataConverter' | 'identity'>> {
  const keys = readPayloadKeys(env);
  await requireRecordedKey(join(homeFolder(env), 'store'), keys);
  return { dataConverter: createDataConverter(keys), identity: clientIdentity(env) };
}

/** Variable that says who asks; `--identity` sets it. */
export const IDENTITY_VARIABLE = 'GENENV_IDENTITY';

/**
 * Who asks, as histories and events name them: by default user and host. It is what the caller says, not a
 * proof. @throws CliError
 */
export function clientIdentity({ [IDENTITY_VARIABLE]: identity }: NodeJS.ProcessEnv): string {
  if (identity === undefined) return `${userName()}@${hostname()}`;
  if (!/^[^\p{Cc}\p{Cf}]{1,200}$/u.test(identity))
    throw new CliError(
      `--identity, ${IDENTITY_VARIABLE}: got ${JSON.stringify(identity.slice(0, 80))}; expected 1 to 200 ` +
        'characters without line breaks',
      exitCodes.badInput,
    );
  return identity;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
