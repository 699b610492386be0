import type { CommandParts } from '../command-parts.ts';
import { homeFolder } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';

export function addDoctor({ program, context, exit }: CommandParts): void {
  program
    .command('doctor')
    .description(
      'what is installed and reachable, and what to do about what is not; exits 1 if something needed is missing',
    )
    .addHelpText('after', '\nExample:\n  genenv doctor')
    .action(async () => {
      const [{ node, python, temporal }, { places }, { servers }, { plainTable }] = await Promise.all([
        import('../doctor/programs.ts'),
        import('../doctor/places.ts'),
        import('../doctor/servers.ts'),
        import('../show/table.ts'),
      ]);
      const [pythonChecks, temporalCheck, serverChecks] = await Promise.all([
        python(),
        temporal(),
        servers(context),
      ]);
      const checks = [
        node(),
        ...pythonChecks,
        temporalCheck,
        ...places(homeFolder(context.env)),
        ...serverChecks,
      ];
      const table = plainTable(['', 'what', 'found']);
      for (const { what, state, found: text } of checks) table.push([state, what, text]);
      context.print(table.toString());
      const problems = checks.filter(({ state }) => state === 'missing');
      for (const { what, remedy } of problems) context.print(`${what}: ${remedy}.`);
      if (problems.length > 0) exit(exitCodes.failed);
    });
}
