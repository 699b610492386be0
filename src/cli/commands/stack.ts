import { setTimeout as sleep } from 'node:timers/promises';
import type { StackAddresses } from '../../dev-stack/record.ts';
import type { StackNeeds } from '../../dev-stack/stack-needs.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';

export function addUp({ program, context, exit }: CommandParts): void {
  program
    .command('up')
    .description(
      'start the embedded stack alone and leave it running: Temporal, policy server, trainer, worker',
    )
    .argument('[file]', 'experiment, comparison or nightly file: what it needs is started too, such as vLLM')
    .option('--foreground', 'stay, and stop the stack on Ctrl-C')
    .option('--ui', 'with Temporal’s web UI, which any user and web page of this machine can reach')
    .addHelpText(
      'after',
      '\nExamples:\n  genenv up\n' +
        '  TEMPORAL_CONFIG_FILE=.genenv/stack/temporal.toml temporal workflow list\n  genenv down',
    )
    .action(async (file: string | undefined, options: UpOptions) =>
      exit(
        await (options.foreground === true
          ? upInForeground(file, options, context)
          : upInBackground(file, options, context)),
      ),
    );
}

interface UpOptions {
  foreground?: boolean;
  ui?: boolean;
}

/** Keeps the stack running until Ctrl-C. */
async function upInForeground(
  file: string | undefined,
  { ui = false }: UpOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { Interruption } = await import('../lib/interruption.ts');
  const { createStack } = await import('../lib/stack.ts');
  await requirePayloadKey(context);
  const needs = await standingNeeds(await fileNeeds(file));
  const interruption = new Interruption(() => context.print('Stopping the stack ...'));
  const stack = createStack(context, 'up', { needs, own: null, ui });
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

/** The worker would refuse to start, after everything else has. @throws InvalidConfig */
async function requirePayloadKey({ env }: CliContext): Promise<void> {
  const { clientOptions } = await import('../lib/client-options.ts');
  await clientOptions(env);
}

/** What `genenv up` starts: all but vLLM, and that too if a file needs it. */
async function standingNeeds(needs: StackNeeds | null): Promise<StackNeeds> {
  const { combineNeeds, standardNeeds } = await import('../../dev-stack/stack-needs.ts');
  return needs === null ? standardNeeds : combineNeeds(standardNeeds, needs).needs;
}

/** What a file needs; null without one. */
async function fileNeeds(file: string | undefined): Promise<StackNeeds | null> {
  if (file === undefined) return null;
  const { experimentsOfFile, needsOf, requireEngines } = await import('../lib/needs.ts');
  const { readInputFile } = await import('../lib/read-file.ts');
  const experiments = experimentsOfFile(
    await readInputFile('experiment file', file, 'experiments/laptop.json'),
  );
  const needs = needsOf(experiments);
  requireEngines(needs, experiments);
  return needs;
}

/** Starts a process that keeps the stack running, and returns when the stack is ready. */
async function upInBackground(
  file: string | undefined,
  { ui }: UpOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { lastLogLines } = await import('../../dev-stack/processes.ts');
  const { runningStack, startSupervisor, waitForStack } = await import('../lib/stack.ts');
  const home = homeFolder(context.env);
  await requirePayloadKey(context);
  const needs = await fileNeeds(file);
  const running = runningStack(home);
  if (running !== null) {
    // The stack of a run ends with the run, and `genenv down` would interrupt it.
    if (running.owner.command !== 'up') {
      const { StackInUse, stackPaths } = await import('../../dev-stack/record.ts');
      throw new StackInUse(stackPaths(home), running);
    }
    context.print(
      `The stack of ${home} runs already (\`genenv ${running.owner.command}\`, process ${running.owner.pid}).`,
    );
    const { addresses } = (await waitForStack(home)) ?? { addresses: null };
    if (addresses === null) throw new CliError('it ended before it was ready; see `genenv doctor`');
    printAddresses(context, addresses);
    const { requireServices } = await import('../lib/session.ts');
    if (needs !== null) requireServices(addresses, needs);
    if (ui === true && addresses.ui === null)
      throw new CliError(
        '--ui: the stack that runs has no UI; end it with `genenv down`, and start it with --ui',
        exitCodes.busy,
      );
    return exitCodes.ok;
  }
  const { child, log } = startSupervisor(home, context.env, [
    ...(file === undefined ? [] : [file]),
    ...(ui === true ? ['--ui'] : []),
  ]);
  context.print(`Starting the stack of ${home} (log: ${log}) ...`);
  while (child.exitCode === null && child.signalCode === null) {
    const record = runningStack(home);
    if (record?.owner.pid === child.pid) {
      const ready = await waitForStack(home);
      if (ready?.addresses) {
        printAddresses(context, ready.addresses);
        return exitCodes.ok;
      }
    }
    await sleep(100);
  }
  throw new CliError(`the stack did not come up. The end of ${log}:\n${lastLogLines(log, 20)}`);
}

function printAddresses({ print }: CliContext, { temporal, ui, policyServer, vllm }: StackAddresses): void {
  print(`Temporal      ${temporal}`);
  if (ui !== null) print(`Temporal UI   ${ui}`);
  if (policyServer !== null) print(`Policy server ${policyServer}`);
  if (vllm !== null) print(`vLLM          ${vllm.url}`);
}

export function addDown({ program, context, exit }: CommandParts): void {
  program
    .command('down')
    .description(
      'stop the embedded stack; a run that uses it is interrupted, and continues when it is started again',
    )
    .addHelpText('after', '\nExample:\n  genenv down')
    .action(async () => exit(await down(context)));
}

/** Longer than worker, trainer, policy server and Temporal together take to end. */
const STOP_SECONDS = 150;

async function down(context: CliContext): Promise<ExitCode> {
  const { runningStack } = await import('../lib/stack.ts');
  const home = homeFolder(context.env);
  const running = runningStack(home);
  if (running === null) return downLeftovers(home, context);
  const { waitForEnd } = await import('../../dev-stack/processes.ts');
  const { stackPaths } = await import('../../dev-stack/record.ts');
  const { command, pid } = running.owner;
  context.print(`Stopping \`genenv ${command}\` (process ${pid}) and its stack ...`);
  process.kill(pid, 'SIGTERM');
  if (!(await waitForEnd(running.owner, STOP_SECONDS)))
    throw new CliError(`process ${pid} has not ended after ${STOP_SECONDS} s; see ${stackPaths(home).logs}`);
  context.print('Stopped.');
  return exitCodes.ok;
}

/** Ends the services that a killed process left running. */
async function downLeftovers(home: string, context: CliContext): Promise<ExitCode> {
  const { endLeftovers, leftovers } = await import('../../dev-stack/leftovers.ts');
  const { readStackRecord, stackPaths, takeStackLock, writeStackRecord } =
    await import('../../dev-stack/record.ts');
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
