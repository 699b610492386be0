import { readSecret } from '../../config/secrets.ts';
import { newToken } from '../../dashboard/access.ts';
import { Dashboard } from '../../dashboard/server.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import type { ListenOptions, TemporalOptions } from './options.ts';
import { loadWorldAsWorker } from './load-world.ts';
import { TemporalSource } from './temporal-source.ts';
import type { FindServer, TemporalServer } from './temporal-source.ts';

/** The options of `TemporalOptions` name the server in the commands that are shown. */
export interface DashboardSettings extends Partial<ListenOptions>, TemporalOptions {
  /** Null without a Temporal server: runs are shown by their files. */
  server: TemporalServer | null;
  /** Looks for one when none answers. */
  findServer: FindServer;
}

export interface OpenDashboard {
  address: string;
  warmUp: () => Promise<void>;
  close: () => Promise<void>;
}

/** Of every home, so that an address that was opened once is found again. */
const USUAL_PORT = 7244;

const MIN_TOKEN_LENGTH = 16;

/**
 * Serves the dashboard of this home. Without a port, it is the usual one if that is free, else any.
 * @throws CliError if the port is taken, or the token is too short
 */
export async function openDashboard(
  { server, findServer, host = '127.0.0.1', port, allowHost = [], ...temporal }: DashboardSettings,
  context: CliContext,
): Promise<OpenDashboard> {
  const token = readSecret(context.env, 'GENENV_DASHBOARD_TOKEN') ?? newToken();
  if (!/^[\w.~-]+$/.test(token) || token.length < MIN_TOKEN_LENGTH)
    throw new CliError(
      `GENENV_DASHBOARD_TOKEN: expected ${MIN_TOKEN_LENGTH} or more letters, digits and . _ ~ -`,
      exitCodes.badInput,
    );
  const listen = async (candidate: number) => {
    const dashboard = new Dashboard({
      home: homeFolder(context.env),
      token,
      loadWorld: loadWorldAsWorker(context),
      source: new TemporalSource(server, findServer, temporal),
    });
    return {
      address: await dashboard.listen(host, candidate, allowHost),
      warmUp: () => dashboard.warmUp(),
      close: () => dashboard.close(),
    };
  };
  try {
    return await listen(port ?? USUAL_PORT);
  } catch (error) {
    if (port === undefined) return listen(0);
    throw new CliError(`dashboard: ${(error as Error).message}; --port 0 takes one that is free`);
  }
}
