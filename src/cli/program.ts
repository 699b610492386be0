import { Command } from 'commander';
import { addCodecServer } from './commands/codec-server.ts';
import { addCompare } from './commands/compare.ts';
import { addCancel, addPause, addRetune, addStop } from './commands/control.ts';
import { addDashboard } from './commands/dashboard.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEndpoints } from './commands/endpoints.ts';
import { addEvaluate } from './commands/evaluate.ts';
import { addFork } from './commands/fork.ts';
import { addGc, addReport, addSchema, addVerify } from './commands/maintenance.ts';
import { addKeys } from './commands/keys.ts';
import { addPaired } from './commands/paired.ts';
import { addRescore } from './commands/rescore.ts';
import { addResume } from './commands/resume.ts';
import { addRewind } from './commands/rewind.ts';
import { addRun } from './commands/run.ts';
import { addSchedule } from './commands/schedule.ts';
import { addDown, addUp } from './commands/stack.ts';
import { addStatus } from './commands/status.ts';
import { addStore } from './commands/store.ts';
import { addSuites } from './commands/suites.ts';
import { addSweep } from './commands/sweep.ts';
import { addTrack } from './commands/track.ts';
import { exitCodeMeanings, homeFolder } from './context.ts';
import type { CliContext, ExitCode } from './context.ts';

export function createProgram(context: CliContext, exit: (code: ExitCode) => void): Command {
  const program = new Command('genenv')
    .description(
      'Trains an agent and the simulator of its environment against each other, ' +
        'as a durable workflow (GenEnv, arXiv 2512.19682).',
    )
    .option('--identity <text>', 'who asks, in the run’s history and report (default: user@host)')
    .hook('preAction', async (_, command) => {
      const { identity } = command.optsWithGlobals<{ identity?: string }>();
      if (identity !== undefined) context.env = { ...context.env, GENENV_IDENTITY: identity };
      const { connectStore } = await import('../runs/connect-store.ts');
      await connectStore(homeFolder(context.env));
    })
    .addHelpText('after', help)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.warn(text.trimEnd()),
    })
    .showSuggestionAfterError();
  const parts = { program, context, exit };
  for (const add of [
    addRun,
    addCompare,
    addSweep,
    addEvaluate,
    addRescore,
    addPaired,
    addSuites,
    addPause,
    addResume,
    addStop,
    addCancel,
    addRetune,
    addFork,
    addRewind,
    addSchedule,
    addStatus,
    addDashboard,
    addReport,
    addTrack,
    addVerify,
    addUp,
    addDown,
    addEndpoints,
    addGc,
    addStore,
    addSchema,
    addDoctor,
    addKeys,
    addCodecServer,
  ])
    add(parts);
  return program;
}

const help = `
Examples:
  genenv run experiments/laptop.json            run an experiment, or resume it, and follow it
  genenv run experiments/laptop.json --id seed1 the same file as another experiment
  genenv run experiments/laptop.json --dry-run  what it would take; nothing is started
  genenv compare experiments/compare-main.json
                                                arms side by side, over several seeds
  genenv evaluate --policy qwen2.5-7b --suite api_bank_toolrl
                                                a policy on benchmarks
  genenv status                                 all runs
  genenv dashboard                              a page over all runs, while they run
  genenv pause laptop                           and resume, stop, cancel, retune
  genenv fork laptop --epoch 20                 a new run from an epoch of another
  genenv schedule create experiments/nightly.json --cron "0 2 * * *"
                                                a nightly curriculum
  genenv report laptop                          write the report of a run again
  genenv track laptop --to mlflow               its epochs, at a tracker

Exit codes:
${Object.entries(exitCodeMeanings)
  .map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`)
  .join('\n')}

Environment:
  GENENV_HOME      folder of stack, store and runs (default: .genenv in the current folder)
  GENENV_PYTHON    Python with the packages of trainer/ (default: the one of infra/setup)
  GENENV_IDENTITY  who asks, as --identity
  GENENV_DASHBOARD off = runs serve no dashboard
  GENENV_TEMPORAL  Temporal executable (default: the one on the PATH, else that of infra/setup)
  TEMPORAL_ADDRESS, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE, …
                   another Temporal server than the embedded one, as the Temporal CLI reads them`;
