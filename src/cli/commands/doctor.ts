import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';

export function addDoctor({ program, context, exit }: CommandParts): void {
  program
    .command('doctor')
    .description(
      'what is installed and reachable, and what to do about what is not; ' +
        'exits 1 if something needed is missing',
    )
    .addHelpText('after', '\nExample:\n  genenv doctor')
    .action(async () => exit(await doctor(context)));
}

async function doctor(context: CliContext): Promise<ExitCode> {
  const { checkEnvironment } = await import('../lib/environment-checks.ts');
  const { plainTable } = await import('../lib/table.ts');
  const checks = await checkEnvironment(context);
  const table = plainTable(['', 'what', 'found']);
  for (const { what, state, finding } of checks) table.push([state, what, finding]);
  context.print(table.toString());
  const problems = checks.filter(({ state }) => state === 'missing');
  for (const { what, remedy } of problems) context.print(`${what}: ${remedy}.`);
  return problems.length > 0 ? exitCodes.failed : exitCodes.ok;
}
