import type { CommandParts } from '../command-parts.ts';

export function addVerify({ program, context, exit }: CommandParts): void {
  program
    .command('verify')
    .description('check the ledger of a run and every file that it names; exits 1 naming the first bad file')
    .argument('<run>', 'id of the run')
    .addHelpText('after', '\nExample:\n  genenv verify laptop')
    .action(async (id: string) => {
      const { verify } = await import('../store/verify.ts');
      exit(await verify(id, context));
    });
}
