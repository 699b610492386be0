import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { CliError, exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';

export function addKeys({ program, context, exit }: CommandParts): void {
  const keys = program.command('keys').description('keys that encrypt what Temporal stores');
  keys
    .command('create')
    .description('make a key: as a new file that only you may read, or printed')
    .requiredOption('--id <id>', 'its id, which every payload shows')
    .option('--file <file>', 'write it here, for GENENV_PAYLOAD_KEYS_FILE')
    .addHelpText('after', '\nExamples:\n  genenv keys create --id 2026-11 --file ~/genenv-keys')
    .action(async (options: { id: string; file?: string }) => exit(await createKey(options, context)));
}

async function createKey(
  { id, file }: { id: string; file?: string },
  context: CliContext,
): Promise<ExitCode> {
  const { readPayloadKeys } = await import('../../temporal/payload-keys.ts');
  const line = `${id}:${randomBytes(32).toString('base64')}`;
  readPayloadKeys({ GENENV_PAYLOAD_KEYS: line });
  if (file === undefined) {
    context.print(line);
    return exitCodes.ok;
  }
  try {
    writeFileSync(file, `${line}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const reason =
      code === 'EEXIST' ? 'it is there already; a key that is lost cannot be made again' : message;
    throw new CliError(`--file: got ${JSON.stringify(file)}: ${reason}`, exitCodes.badInput);
  }
  context.print(
    `${file}: the key ${id}. Keep a copy elsewhere: without it, nothing that it encrypts can be read.`,
  );
  return exitCodes.ok;
}
