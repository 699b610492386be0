import type { ControlState } from '../../workflows/messages.ts';
import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addRunCommand, addTemporalOptions, SERVED_ADDRESS } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';
import type { FoundWorkflow } from '../lib/updates.ts';

type Attached = Pick<FoundWorkflow, 'client' | 'handle'>;

interface ResumeOptions extends TemporalOptions {
  only?: boolean;
}

export function addResume(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'resume',
    'resume a paused run, or start one again that does not run and follow it',
    '  genenv resume laptop',
  );
  command.option('--only', 'leave other runs that were interrupted earlier');
  addTemporalOptions(command, SERVED_ADDRESS).action(async (id: string, options: ResumeOptions) =>
    parts.exit(await resumeRun(id, options, parts.context)),
  );
}

/**
 * Resumes a paused run; starts one that does not run from its own experiment file, on the server there is.
 */
async function resumeRun(id: string, options: ResumeOptions, context: CliContext): Promise<ExitCode> {
  const { controlStateText, findWorkflow, sendUpdate } = await import('../lib/updates.ts');
  const workflow = await findWorkflow(id, options, context);
  if (workflow?.running === true) {
    const state = await sendUpdate<ControlState>(workflow, 'resume');
    context.print(controlStateText(id, state));
    return exitCodes.ok;
  }
  const { parseExperiment } = await import('../../config/parse-experiment.ts');
  const { requireRun } = await import('../../runs/run-overview.ts');
  const { cancelCommand, commandLine, temporalFlags } = await import('../lib/command-line.ts');
  const { externalTemporal } = await import('../lib/session.ts');
  const { startOrResume } = await import('../lib/start-experiment.ts');
  const home = homeFolder(context.env);
  const folder = await requireRun(home, id);
  const raw = (await folder.readExperiment())?.experiment;
  const request = {
    raw,
    experiment: parseExperiment(raw),
    id,
    home,
    only: options.only === true,
    resumeCommand: commandLine(['resume', id], { '--only': options.only, ...temporalFlags(options) }),
    cancelCommand: cancelCommand(id, options),
    restartCommand: commandLine(['run', folder.experimentFile], {
      '--id': `${id}-2`,
      ...temporalFlags(options),
    }),
    onAttached: (attached: Attached) => resumeIfPaused({ ...attached, options }),
  };
  return startOrResume(request, externalTemporal(options, context.env), context);
}

/** The Temporal server of a stack that was stopped still has the run paused. */
async function resumeIfPaused(workflow: Omit<FoundWorkflow, 'running'>): Promise<void> {
  const { sendUpdate, UpdateRefused } = await import('../lib/updates.ts');
  try {
    await sendUpdate<ControlState>(workflow, 'resume');
  } catch (error) {
    if (!(error instanceof UpdateRefused) || error.type !== 'NotPaused') throw error;
  }
}
