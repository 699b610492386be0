import { endLeftovers, leftovers } from '../../dev-stack/leftovers.ts';
import { ended } from '../../dev-stack/processes.ts';
import { readStackRecord, stackPaths, takeStackLock, writeStackRecord } from '../../dev-stack/record.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { runningStack } from './running-stack.ts';

/** More than worker, trainer, policy server and Temporal together take to end. */
const STOP_SECONDS = 150;

/** `genenv down`. */
export async function down(context: CliContext): Promise<ExitCode> {
  const home = homeFolder(context.env);
  const running = runningStack(home);
  if (running !== null) {
    context.print(
      `Stopping \`genenv ${running.owner.command}\` (process ${running.owner.pid}) and its stack ...`,
    );
    process.kill(running.owner.pid, 'SIGTERM');
    if (!(await ended(running.owner, STOP_SECONDS)))
      throw new CliError(
        `process ${running.owner.pid} has not ended after ${STOP_SECONDS} s; see ${stackPaths(home).logs}`,
      );
    context.print('Stopped.');
    return exitCodes.ok;
  }
  const paths = stackPaths(home);
  const record = readStackRecord(paths.record);
  if (leftovers(home, record).length === 0) {
    context.print(`No stack runs in ${home}.`);
    return exitCodes.ok;
  }
  const lock = takeStackLock(paths.lock);
  if (lock === null)
    throw new CliError(`a stack of ${home} is just being started; try again`, exitCodes.busy);
  context.print('Ending what a killed process left ...');
  await endLeftovers(home, record);
  writeStackRecord(paths.record, {
    ...record,
    owner: null,
    state: 'stopped',
    addresses: null,
    processes: {},
  });
  lock.release();
  context.print('Stopped.');
  return exitCodes.ok;
}
