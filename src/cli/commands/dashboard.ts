import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addListenOptions, addTemporalOptions } from '../lib/options.ts';
import type { ListenOptions, TemporalOptions } from '../lib/options.ts';

type DashboardCommand = TemporalOptions & ListenOptions;

export function addDashboard({ program, context, exit }: CommandParts): void {
  const command = program
    .command('dashboard')
    .description('serve a page over all runs of this home, until Ctrl-C');
  addTemporalOptions(addListenOptions(command, 7244))
    .addHelpText(
      'after',
      `
It reads only. Whoever has the address that it prints can read all runs.

Environment:
  GENENV_DASHBOARD_TOKEN, GENENV_DASHBOARD_TOKEN_FILE   the token of the address (default: a new one)

Examples:
  genenv dashboard
  genenv dashboard --host 0.0.0.0 --allow-host gpu-1.example.org:7244`,
    )
    .action(async (options: DashboardCommand) => exit(await serveDashboard(options, context)));
}

async function serveDashboard(options: DashboardCommand, context: CliContext): Promise<ExitCode> {
  const { openDashboard } = await import('../lib/open-dashboard.ts');
  const { serverFinder } = await import('../lib/session.ts');
  const { Interruption } = await import('../lib/interruption.ts');
  const findServer = serverFinder(options, context);
  const dashboard = await openDashboard({ server: await findServer(), findServer, ...options }, context);
  context.print(`Dashboard: ${dashboard.address}`);
  dashboard.warmUp().catch(() => undefined);
  const interruption = new Interruption(() => undefined);
  try {
    await interruption.unlessStopped(new Promise<never>(() => undefined));
  } finally {
    interruption.dispose();
    await dashboard.close();
  }
  return exitCodes.ok;
}
