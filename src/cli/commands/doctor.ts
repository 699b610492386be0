import { join } from 'node:path';
import type { Experiment } from '../../config/experiment.ts';
import { exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';

export function addDoctor({ program, context, exit }: CommandParts): void {
  program
    .command('doctor')
    .description(
      'what is installed and reachable, and what to do about what is not; ' +
        'exits 1 if something needed is missing',
    )
    .argument('[file]', 'experiment, comparison or nightly file: what it needs here and of its model server')
    .addHelpText('after', '\nExamples:\n  genenv doctor\n  genenv doctor experiments/smollm2.json')
    .action(async (file: string | undefined) => exit(await doctor(file, context)));
}

/** Training jobs of this host that are listed. */
const maxJobs = 20;

async function doctor(file: string | undefined, context: CliContext): Promise<ExitCode> {
  const { checkEnvironment } = await import('../lib/environment-checks.ts');
  const { note } = await import('../lib/check.ts');
  const { plainTable } = await import('../lib/table.ts');
  const experiments = file === undefined ? [] : await readExperiments(file);
  const checks = await checkEnvironment(context);
  // The arms of a comparison share model and server.
  for (const experiment of experiments.slice(0, 1)) {
    const { checkExperiment } = await import('../lib/file-checks.ts');
    checks.push(...(await checkExperiment(experiment, context)));
  }
  const { storedJobs } = await import('../lib/training-jobs.ts');
  const store = context.env.GENENV_STORE ?? join(homeFolder(context.env), 'store');
  for (const { job, log } of (await storedJobs(store)).slice(0, maxJobs))
    checks.push(note('Training job', `${job}; its log: ${log}`));
  const table = plainTable(['', 'what', 'found']);
  for (const { what, state, finding } of checks) table.push([state, what, finding]);
  context.print(table.toString());
  const problems = checks.filter(({ state }) => state === 'missing');
  for (const { what, remedy } of problems) context.print(`${what}: ${remedy}.`);
  return problems.length > 0 ? exitCodes.failed : exitCodes.ok;
}

async function readExperiments(file: string): Promise<Experiment[]> {
  const { experimentsOfFile } = await import('../lib/needs.ts');
  const { readInputFile } = await import('../lib/read-file.ts');
  return experimentsOfFile(await readInputFile('experiment file', file, 'experiments/laptop.json'));
}
