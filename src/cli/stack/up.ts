import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { lastLogLines } from '../../dev-stack/processes.ts';
import { stackPaths } from '../../dev-stack/record.ts';
import type { StackAddresses } from '../../dev-stack/record.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import { ownStack } from './own-stack.ts';
import { readyStack, runningStack } from './running-stack.ts';

/** Stays and looks after the stack. */
export async function upInForeground(context: CliContext): Promise<ExitCode> {
  const interruption = new Interruption(() => context.print('Stopping the stack ...'));
  const stack = ownStack(context, 'up');
  try {
    const addresses = await interruption.unlessStopped(stack.start());
    if (addresses !== undefined) {
      printAddresses(context, addresses);
      const reason = await interruption.unlessStopped(stack.givenUp);
      if (reason !== undefined) throw new CliError(reason.message);
    }
    return exitCodes.ok;
  } finally {
    await stack.stop(interruption.hurry);
    interruption.dispose();
  }
}

/** Starts a process that does, and returns when the stack is ready. */
export async function upInBackground(context: CliContext): Promise<ExitCode> {
  const home = homeFolder(context.env);
  const running = runningStack(home);
  if (running !== null) {
    context.print(
      `The stack of ${home} runs already (\`genenv ${running.owner.command}\`, process ${running.owner.pid}).`,
    );
    if (running.addresses !== null) printAddresses(context, running.addresses);
    return exitCodes.ok;
  }
  const { logs } = stackPaths(home);
  mkdirSync(logs, { recursive: true });
  const log = join(logs, 'supervisor.log');
  const output = openSync(log, 'w');
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../genenv.ts', import.meta.url)), 'up', '--foreground'],
    { detached: true, stdio: ['ignore', output, output], env: context.env },
  );
  closeSync(output);
  child.unref();
  context.print(`Starting the stack of ${home} (log: ${log}) ...`);
  while (child.exitCode === null && child.signalCode === null) {
    const record = runningStack(home);
    if (record?.owner.pid === child.pid) {
      const ready = await readyStack(home);
      if (ready?.addresses) {
        printAddresses(context, ready.addresses);
        return exitCodes.ok;
      }
    }
    await sleep(100);
  }
  throw new CliError(`the stack did not come up. The end of ${log}:\n${lastLogLines(log, 20)}`);
}

function printAddresses({ print }: CliContext, { temporal, ui, policyServer }: StackAddresses): void {
  print(`Temporal      ${temporal}`);
  print(`Temporal UI   ${ui}`);
  print(`Policy server ${policyServer}`);
}
