import type { Command } from 'commander';
import type { CommandParts } from '../command-parts.ts';
import type { ForkOptions } from '../control/fork.ts';
import type { RewindOptions } from '../control/rewind.ts';
import type { ControlOptions } from '../control/verbs.ts';
import { withTemporal } from '../temporal-options.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { parseWholeNumber } from '../whole-number.ts';

/** The commands that say what a run is to do. */
export function addControl(parts: CommandParts): void {
  for (const add of [addPause, addResume, addStop, addCancel, addRetune, addFork, addRewind]) add(parts);
}

const json = '--json';
const asJson = 'print JSON';
const epoch = '--epoch <n>';
const set = '--set <key=value>';
const setting = (text: string, before: string[]): string[] => [...before, text];

const onRun = ({ program }: CommandParts, name: string, description: string, examples: string): Command =>
  program
    .command(name)
    .description(description)
    .argument('<run>', 'id of the run')
    .addHelpText('after', `\nExamples:\n${examples}`);

function addPause(parts: CommandParts): void {
  withTemporal(
    onRun(
      parts,
      'pause',
      'pause a running experiment before its next phase',
      '  genenv pause laptop\n  genenv resume laptop',
    ).option(json, asJson),
  ).action(async (id: string, options: ControlOptions) => {
    const { pause } = await import('../control/verbs.ts');
    parts.exit(await pause(id, options, parts.context));
  });
}

function addResume(parts: CommandParts): void {
  withTemporal(
    onRun(
      parts,
      'resume',
      'go on with a paused run, or start one again that does not run and follow it',
      '  genenv resume laptop',
    ),
    'an own Temporal server instead of the embedded stack; a worker must serve it (npm run worker)',
  ).action(async (id: string, options: TemporalOptions) => {
    const { resume } = await import('../control/resume.ts');
    parts.exit(await resume(id, options, parts.context));
  });
}

function addStop(parts: CommandParts): void {
  withTemporal(
    onRun(
      parts,
      'stop',
      'stop a running experiment after the epoch under way',
      '  genenv stop laptop',
    ).option(json, asJson),
  ).action(async (id: string, options: ControlOptions) => {
    const { stop } = await import('../control/verbs.ts');
    parts.exit(await stop(id, options, parts.context));
  });
}

function addCancel(parts: CommandParts): void {
  withTemporal(
    onRun(
      parts,
      'cancel',
      'end a running experiment now; what is under way is saved',
      '  genenv cancel laptop',
    ).option(json, asJson),
  ).action(async (id: string, options: ControlOptions) => {
    const { cancel } = await import('../control/verbs.ts');
    parts.exit(await cancel(id, options, parts.context));
  });
}

function addRetune(parts: CommandParts): void {
  const command = onRun(
    parts,
    'retune',
    'change settings of a running experiment from its next epoch on',
    '  genenv retune laptop difficulty.alpha=0.4 agent.training.learningRate=0.0001\n  genenv retune laptop epochs=120',
  );
  withTemporal(command.argument('<key=value...>', 'settings by dotted path').option(json, asJson)).action(
    async (id: string, texts: string[], options: ControlOptions) => {
      const [{ retune }, { assignments }] = await Promise.all([
        import('../control/verbs.ts'),
        import('../control/assignments.ts'),
      ]);
      parts.exit(await retune(id, assignments(texts), options, parts.context));
    },
  );
}

function addFork(parts: CommandParts): void {
  const command = onRun(
    parts,
    'fork',
    'start a new experiment from an epoch of a run, and follow it',
    '  genenv fork laptop --epoch 20 --set difficulty.alpha=0.4\n  genenv fork laptop --epoch 20 --id other --print > other.json',
  )
    .requiredOption(epoch, 'committed epoch to start from', parseWholeNumber('--epoch', 0))
    .option('--id <id>', 'id of the new run (default: <run>-fork-<n>)')
    .option(set, 'set a field of its experiment file otherwise; may be given again', setting, [])
    .option('--print', 'only print its experiment file; start nothing');
  withTemporal(
    command,
    'an own Temporal server instead of the embedded stack; a worker must serve it (npm run worker)',
  ).action(async (id: string, options: ForkOptions) => {
    const [{ fork }, { assignments }] = await Promise.all([
      import('../control/fork.ts'),
      import('../control/assignments.ts'),
    ]);
    parts.exit(await fork(id, assignments(options.set), options, parts.context));
  });
}

function addRewind(parts: CommandParts): void {
  const command = onRun(
    parts,
    'rewind',
    'go back to an epoch of a run that does not run; what is left is kept as a branch',
    '  genenv rewind laptop --epoch 20\n  genenv rewind laptop --epoch 20 --set difficulty.alpha=0.4',
  )
    .requiredOption(epoch, 'committed epoch to go back to', parseWholeNumber('--epoch', 0))
    .option(set, 'retune a setting from the epoch after it on; may be given again', setting, [])
    .option(json, asJson);
  withTemporal(command).action(async (id: string, options: RewindOptions) => {
    const [{ rewind }, { assignments }] = await Promise.all([
      import('../control/rewind.ts'),
      import('../control/assignments.ts'),
    ]);
    parts.exit(await rewind(id, assignments(options.set), options, parts.context));
  });
}
