import { CliError, exitCodes } from '../context.ts';
import type { CliContext, CommandParts, ExitCode } from '../context.ts';
import { addListenOptions, collectOption } from '../lib/options.ts';
import type { ListenOptions } from '../lib/options.ts';

interface CodecServerCommand extends ListenOptions {
  origin: string[];
  encode?: boolean;
}

export function addCodecServer({ program, context, exit }: CommandParts): void {
  const command = program
    .command('codec-server')
    .description('decrypt payloads for the Temporal UI and CLI, until Ctrl-C');
  addListenOptions(command, 8088)
    .option(
      '--origin <origin>',
      'origin of a Temporal UI that may ask; may be given again',
      collectOption,
      [],
    )
    .option('--encode', 'encrypt too: whoever has the token may then make payloads that workers trust')
    .addHelpText(
      'after',
      `
Environment:
  GENENV_PAYLOAD_KEYS, GENENV_PAYLOAD_KEYS_FILE   the keys, as the workers have them
  GENENV_CODEC_TOKEN, GENENV_CODEC_TOKEN_FILE     what requests must present: 32 characters or more

Examples:
  genenv codec-server --origin http://127.0.0.1:8233
  temporal workflow show --workflow-id laptop --codec-endpoint http://127.0.0.1:8088 \\
    --codec-auth "Bearer $GENENV_CODEC_TOKEN"`,
    )
    .action(async (options: CodecServerCommand) => exit(await serveCodec(options, context)));
}

async function serveCodec(options: CodecServerCommand, context: CliContext): Promise<ExitCode> {
  const { listenNames } = await import('../../config/listen-address.ts');
  const { createCodecServer } = await import('../../temporal/codec-server.ts');
  const { EncryptionCodec } = await import('../../temporal/payload-codec.ts');
  const { readPayloadKeys } = await import('../../temporal/payload-keys.ts');
  const { Interruption } = await import('../lib/interruption.ts');
  const keys = readPayloadKeys(context.env);
  if (keys.length === 0)
    throw new CliError('GENENV_PAYLOAD_KEYS: missing; set the keys of the workers', exitCodes.badInput);
  const hosts: string[] = [];
  const server = createCodecServer({
    codec: new EncryptionCodec(keys),
    token: await readToken(context.env),
    origins: options.origin.map(parseOrigin),
    hosts,
    encode: options.encode === true,
  });
  const address = await new Promise<{ port: number }>((resolve, reject) => {
    server.once('error', (error) => reject(new CliError(`codec-server: ${error.message}`)));
    server.listen(options.port, options.host, () => resolve(server.address() as { port: number }));
  });
  const names = listenNames(options.host, address.port, options.allowHost);
  hosts.push(...names.hosts);
  context.print(
    `codec server: http://${names.shown}, keys ${keys.map(({ id }) => id).join(', ')}, ` +
      `pages from ${options.origin.join(', ') || 'nowhere (--origin)'}`,
  );
  const interruption = new Interruption(() => undefined);
  await interruption.unlessStopped(new Promise<never>(() => undefined));
  interruption.dispose();
  server.closeAllConnections();
  return exitCodes.ok;
}

const minTokenLength = 32;

/** @throws CliError, InvalidConfig; neither quotes the token */
async function readToken(env: NodeJS.ProcessEnv): Promise<string> {
  const { readSecret } = await import('../../config/secrets.ts');
  const token = readSecret(env, 'GENENV_CODEC_TOKEN');
  if (token === undefined)
    throw new CliError(
      'GENENV_CODEC_TOKEN: missing; set it, or GENENV_CODEC_TOKEN_FILE, such as to the output of ' +
        '`openssl rand -hex 32`',
      exitCodes.badInput,
    );
  if (!/^[\w.~-]+$/.test(token) || token.length < minTokenLength)
    throw new CliError(
      `GENENV_CODEC_TOKEN: expected ${minTokenLength} or more letters, digits and . _ ~ -`,
      exitCodes.badInput,
    );
  return token;
}

function parseOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin !== text)
    throw new CliError(
      `--origin: got ${JSON.stringify(text.slice(0, 200))}; expected scheme, host and port, such as http://127.0.0.1:8233`,
      exitCodes.badInput,
    );
  return origin;
}
