import { Command } from 'commander';
import { addCompare } from './commands/compare.ts';
import { addControl } from './commands/control.ts';
import { addDoctor } from './commands/doctor.ts';
import { addDown } from './commands/down.ts';
import { addEvaluate, addPaired, addRescore, addSuites } from './commands/evaluate.ts';
import { addGc } from './commands/gc.ts';
import { addReport } from './commands/report.ts';
import { addRun } from './commands/run.ts';
import { addSchedule } from './commands/schedule.ts';
import { addSchema } from './commands/schema.ts';
import { addStatus } from './commands/status.ts';
import { addUp } from './commands/up.ts';
import { addVerify } from './commands/verify.ts';
import type { CliContext } from './context.ts';
import { exitCodeMeanings } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';

export function createProgram(context: CliContext, exit: (code: ExitCode) => void): Command {
  const program = new Command('genenv')
    .description(
      'Trains an agent and the simulator of its environment against each other, as a durable workflow (GenEnv, arXiv 2512.19682).',
    )
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
    addEvaluate,
    addRescore,
    addPaired,
    addSuites,
    addControl,
    addSchedule,
    addStatus,
    addReport,
    addVerify,
    addUp,
    addDown,
    addGc,
    addSchema,
    addDoctor,
  ])
    add(parts);
  return program;
}

const help = `
Examples:
  genenv run experiments/laptop.json            run an experiment, or go on with it, and follow it
  genenv run experiments/laptop.json --id seed1 the same file as another experiment
  genenv run experiments/laptop.json --dry-run  what it would take; nothing is started
  genenv compare experiments/compare-laptop.json
                                                arms side by side, over several seeds
  genenv evaluate --policy qwen2.5-7b --suite api_bank_toolrl
                                                a policy on benchmarks
  genenv status                                 all runs
  genenv pause laptop                           and resume, stop, cancel, retune
  genenv fork laptop --epoch 20                 a new run from an epoch of another
  genenv schedule create experiments/nightly.json --cron "0 2 * * *"
                                                a nightly curriculum
  genenv report laptop                          write the report of a run again

Exit codes:
${Object.entries(exitCodeMeanings)
  .map(([code, meaning]) => `  ${code.padEnd(5)}${meaning}`)
  .join('\n')}

Environment:
  GENENV_HOME      folder of stack, store and runs (default: .genenv in the current folder)
  GENENV_PYTHON    Python with the packages of trainer/ (default: the one of infra/setup)
  GENENV_TEMPORAL  Temporal executable (default: the one on the PATH, else that of infra/setup)
  TEMPORAL_ADDRESS, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE, …
                   another Temporal server than the embedded one, as the Temporal CLI reads them`;
