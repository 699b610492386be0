import type { rewindFolder } from '../../runs/rewind.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import {
  addRunCommand,
  addTemporalOptions,
  collectOption,
  parseAssignments,
  parseWholeNumber,
} from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import { plural } from '../lib/text.ts';

interface RewindOptions extends TemporalOptions {
  epoch: number;
  set: string[];
  json?: boolean;
}

export function addRewind(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'rewind',
    'return a stopped run to an earlier epoch; the epochs after it are kept as a branch',
    '  genenv rewind laptop --epoch 20\n' + '  genenv rewind laptop --epoch 20 --set difficulty.alpha=0.4',
  )
    .requiredOption('--epoch <n>', 'committed epoch to go back to', parseWholeNumber('--epoch', 0))
    .option(
      '--set <key=value>',
      'retune a setting from the epoch after it on; may be given again',
      collectOption,
      [],
    )
    .option('--json', 'print JSON');
  addTemporalOptions(command).action(async (id: string, options: RewindOptions) =>
    parts.exit(await rewindRun(id, options, parts.context)),
  );
}

async function rewindRun(id: string, options: RewindOptions, context: CliContext): Promise<ExitCode> {
  const { rewindFolder } = await import('../../runs/rewind.ts');
  const { requireRun } = await import('../../runs/run-overview.ts');
  const { clientIdentity } = await import('../lib/client-options.ts');
  const { commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { findWorkflow } = await import('../lib/updates.ts');
  const set = parseAssignments(options.set);
  const home = homeFolder(context.env);
  const folder = await requireRun(home, id);
  const onItsServer = (verb: string): string => commandLine([verb, id], temporalFlags(options));
  const workflow = await findWorkflow(id, options, context);
  if (workflow?.running === true)
    throw new CliError(
      `${id} is running: end it first, with \`${onItsServer('stop')}\` (after its epoch) ` +
        `or \`${onItsServer('cancel')}\` (now)`,
    );
  const rewound = await rewindFolder(folder, home, {
    epoch: options.epoch,
    set,
    identity: clientIdentity(context.env),
  });
  const text = `${rewindText(id, rewound, options)}\nTo resume: ${onItsServer('resume')}`;
  context.print(options.json === true ? JSON.stringify(rewound, null, 2) : text);
  return exitCodes.ok;
}

function rewindText(
  id: string,
  { epoch, dropped, branch }: Awaited<ReturnType<typeof rewindFolder>>,
  { set }: RewindOptions,
): string {
  const kept =
    branch === null ? ', its last one' : `; ${plural(dropped, 'epoch')} after it kept in ${branch}`;
  const lines = [`${id} is at epoch ${epoch}${kept}.`];
  if (set.length > 0) lines.push(`From epoch ${epoch + 1} on: ${set.join(', ')}`);
  return lines.join('\n');
}
