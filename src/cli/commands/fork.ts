import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import {
  addRunCommand,
  addTemporalOptions,
  collectOption,
  parseAssignments,
  parseWholeNumber,
  SERVED_ADDRESS,
} from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

interface ForkOptions extends TemporalOptions {
  epoch: number;
  id?: string;
  set: string[];
  print?: boolean;
}

export function addFork(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'fork',
    'start a new experiment from an epoch of a run, and follow it',
    '  genenv fork laptop --epoch 20 --set difficulty.alpha=0.4\n' +
      '  genenv fork laptop --epoch 20 --id other --print > other.json',
  )
    .requiredOption('--epoch <n>', 'committed epoch to start from', parseWholeNumber('--epoch', 0))
    .option('--id <id>', 'id of the new run (default: <run>-fork-<n>)')
    .option(
      '--set <key=value>',
      'set a field of its experiment file otherwise; may be given again',
      collectOption,
      [],
    )
    .option('--print', 'only print its experiment file; start nothing');
  addTemporalOptions(command, SERVED_ADDRESS).action(async (parent: string, options: ForkOptions) =>
    parts.exit(await forkRun(parent, options, parts.context)),
  );
}

/** Starts the fork's experiment as `genenv run` would start its file; writes nothing itself. */
async function forkRun(parent: string, options: ForkOptions, context: CliContext): Promise<ExitCode> {
  const { forkedExperiment, freeRunId } = await import('../lib/forked-experiment.ts');
  const set = parseAssignments(options.set);
  const home = homeFolder(context.env);
  const { epoch } = options;
  const id = options.id ?? (await freeRunId(home, `${parent}-fork-${epoch}`));
  const experiment = await forkedExperiment(home, { parent, id, epoch, set });
  if (options.print === true) {
    context.print(JSON.stringify(experiment, null, 2));
    return exitCodes.ok;
  }
  const { cancelCommand, commandLine, resumeCommand, temporalFlags } = await import('../lib/command-line.ts');
  const same = { '--epoch': epoch, '--set': options.set };
  context.print(`${id} starts from epoch ${epoch} of ${parent}. The same with the Temporal CLI:
  ${commandLine(['fork', parent], same)} --print > ${id}.json
  temporal workflow start --type experiment --task-queue genenv --workflow-id ${id} --input-file ${id}.json`);
  const { externalTemporal } = await import('../lib/session.ts');
  const { startOrResume } = await import('../lib/start-experiment.ts');
  const request = {
    raw: experiment,
    experiment,
    id,
    home,
    resumeCommand: resumeCommand(id, options),
    cancelCommand: cancelCommand(id, options),
    restartCommand: commandLine(['fork', parent], {
      ...same,
      '--id': `${id}-2`,
      ...temporalFlags(options),
    }),
  };
  return startOrResume(request, externalTemporal(options, context.env), context);
}
