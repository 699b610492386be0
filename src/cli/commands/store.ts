import { resolve } from 'node:path';
import { exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { byteText, plural } from '../lib/text.ts';

export function addStore({ program, context, exit }: CommandParts): void {
  const store = program.command('store').description('runs and artifacts on a disk or in a bucket');
  store
    .command('copy')
    .description('copy a run into another home folder, on its disk or in its bucket, and verify the copy')
    .argument('<run>', 'id of the run, which should not be running')
    .argument('<from>', 'home folder that has it')
    .argument('<to>', 'home folder that gets it; a store.json in it names a bucket')
    .addHelpText('after', '\nExample:\n  genenv store copy laptop .genenv /srv/genenv')
    .action(async (id: string, from: string, to: string) => exit(await copy({ id, from, to }, context)));
}

async function copy(
  { id, from, to }: { id: string; from: string; to: string },
  { print, warn }: CliContext,
): Promise<ExitCode> {
  const { connectStore } = await import('../../runs/connect-store.ts');
  const { copyRun } = await import('../../runs/copy-run.ts');
  await connectStore(resolve(from));
  const bucket = await connectStore(resolve(to));
  const { lines, objects, bytes, pruned, problems } = await copyRun(id, resolve(from), resolve(to));
  for (const { file, problem } of problems.slice(0, 10)) warn(`${id}: ${file}: ${problem}`);
  if (problems.length > 0) return exitCodes.failed;
  const objectText = `${plural(objects, 'object')} (${byteText(bytes)})`;
  const prunedText = pruned === 0 ? '' : `, ${pruned} pruned by retention`;
  print(
    `${id}: copied to ${bucket?.address() ?? to}, whole. ${plural(lines, 'ledger line')}, ${objectText}${prunedText}.`,
  );
  return exitCodes.ok;
}
