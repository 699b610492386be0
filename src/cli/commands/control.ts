import type { Retuned } from '../../types/activity-types.ts';
import type { ControlState } from '../../workflows/messages.ts';
import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addRunCommand, addTemporalOptions, parseAssignments } from '../lib/options.ts';
import type { TemporalOptions } from '../lib/options.ts';

interface ControlOptions extends TemporalOptions {
  json?: boolean;
}

// `pause`, `stop`, `cancel` and `retune`: they tell a running experiment what to do next.

export function addPause(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'pause',
    'pause a running experiment before its next phase',
    '  genenv pause laptop\n  genenv resume laptop',
  );
  addControlOptions(command).action(async (id: string, options: ControlOptions) =>
    parts.exit(await pauseRun(id, options, parts.context)),
  );
}

async function pauseRun(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const { resumeCommand } = await import('../lib/command-line.ts');
  const { controlStateText, requireRunningWorkflow, sendUpdate } = await import('../lib/updates.ts');
  const workflow = await requireRunningWorkflow(id, options, context);
  const state = await sendUpdate<ControlState>(workflow, 'pause');
  const text =
    `${controlStateText(id, state)} The phase under way continues to its end.\n` +
    `To resume: ${resumeCommand(id, options)}`;
  printAnswer(state, text, options, context);
  return exitCodes.ok;
}

export function addStop(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'stop',
    'stop a running experiment after the epoch under way',
    '  genenv stop laptop',
  );
  addControlOptions(command).action(async (id: string, options: ControlOptions) =>
    parts.exit(await stopRun(id, options, parts.context)),
  );
}

async function stopRun(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const { resumeCommand } = await import('../lib/command-line.ts');
  const { controlStateText, requireRunningWorkflow, sendUpdate } = await import('../lib/updates.ts');
  const workflow = await requireRunningWorkflow(id, options, context);
  const state = await sendUpdate<ControlState>(workflow, 'stopAfterEpoch');
  const text = `${controlStateText(id, state)}\nTo resume after that: ${resumeCommand(id, options)}`;
  printAnswer(state, text, options, context);
  return exitCodes.ok;
}

export function addCancel(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'cancel',
    'end a running experiment now; what is under way is saved',
    '  genenv cancel laptop',
  );
  addControlOptions(command).action(async (id: string, options: ControlOptions) =>
    parts.exit(await cancelRun(id, options, parts.context)),
  );
}

async function cancelRun(id: string, options: ControlOptions, context: CliContext): Promise<ExitCode> {
  const { resumeCommand } = await import('../lib/command-line.ts');
  const { requireRunningWorkflow } = await import('../lib/updates.ts');
  const { handle } = await requireRunningWorkflow(id, options, context);
  await handle.cancel();
  const text =
    `${id} is being cancelled: what is under way is saved, then it ends.\n` +
    `To resume after that: ${resumeCommand(id, options)}`;
  printAnswer({ cancelRequested: true }, text, options, context);
  return exitCodes.ok;
}

export function addRetune(parts: CommandParts): void {
  const command = addRunCommand(
    parts,
    'retune',
    'change settings of a running experiment from its next epoch on',
    '  genenv retune laptop difficulty.alpha=0.4 agent.training.learningRate=0.0001\n' +
      '  genenv retune laptop epochs=120',
  ).argument('<key=value...>', 'settings by dotted path');
  addControlOptions(command).action(async (id: string, assignments: string[], options: ControlOptions) =>
    parts.exit(await retuneRun(id, assignments, options, parts.context)),
  );
}

async function retuneRun(
  id: string,
  assignments: readonly string[],
  options: ControlOptions,
  context: CliContext,
): Promise<ExitCode> {
  const { requireRunningWorkflow, sendUpdate } = await import('../lib/updates.ts');
  const { plainTable } = await import('../lib/table.ts');
  const changes = parseAssignments(assignments);
  const workflow = await requireRunningWorkflow(id, options, context);
  const retuned = await sendUpdate<Retuned>(workflow, 'retune', changes);
  const table = plainTable([`from epoch ${retuned.fromEpoch}`, 'value', '']);
  for (const [field, value] of Object.entries(retuned.settings))
    table.push([field, String(value), field in changes ? 'retuned' : '']);
  printAnswer(retuned, table.toString(), options, context);
  return exitCodes.ok;
}

const addControlOptions = (command: ReturnType<typeof addRunCommand>): typeof command =>
  addTemporalOptions(command.option('--json', 'print JSON'));

function printAnswer(answer: unknown, text: string, { json }: ControlOptions, { print }: CliContext): void {
  print(json === true ? JSON.stringify(answer, null, 2) : text);
}
