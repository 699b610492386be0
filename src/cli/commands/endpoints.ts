import type { EndpointList } from '../../config/endpoints.ts';
import { CliError, exitCodes, homeFolder } from '../context.ts';
import type { CliContext, CommandParts } from '../context.ts';

interface AddOptions {
  keyEnv?: string;
  keyFile?: string;
}

// The list of servers that the workers of this home may speak to. Who runs the workers edits it.

export function addEndpoints({ program, context }: CommandParts): void {
  const endpoints = program
    .command('endpoints')
    .description('the servers that workers of this home may speak to, and their keys: the operator’s list')
    .addHelpText('after', EXAMPLES);
  endpoints
    .command('list', { isDefault: true })
    .description('print the list')
    .action(async () => {
      for (const line of describeList(await readList(context))) context.print(line);
    });
  endpoints
    .command('add')
    .description('add an endpoint, or replace the one of that name')
    .argument('<name>', 'a file names it as endpoint:NAME')
    .argument('<url...>', 'address, or those of several servers of the same models')
    .option('--key-env <variable>', 'variable of the worker’s environment with the key')
    .option('--key-file <file>', 'file with the key')
    .action(async (name: string, urls: string[], { keyEnv, keyFile }: AddOptions) => {
      const endpoint = {
        baseUrl: urls.length === 1 ? urls[0]! : urls,
        ...(keyEnv !== undefined && { apiKeyEnv: keyEnv }),
        ...(keyFile !== undefined && { apiKeyFile: keyFile }),
      };
      await changeList(context, (list) => ({ ...list, endpoints: { ...list.endpoints, [name]: endpoint } }));
    });
  endpoints
    .command('allow')
    .description('let files name servers of an origin by their address, without a key')
    .argument('<origin>', 'such as http://127.0.0.1:8000, or http://127.0.0.1:* for any port')
    .action(async (origin: string) =>
      changeList(context, (list) => ({ ...list, addresses: [...new Set([...list.addresses, origin])] })),
    );
  endpoints
    .command('remove')
    .description('remove an endpoint or an origin')
    .argument('<name>', 'name or origin, as `genenv endpoints` prints it')
    .action(async (name: string) =>
      changeList(context, (list) => {
        if (!Object.hasOwn(list.endpoints, name) && !list.addresses.includes(name))
          throw new CliError(
            `endpoints: got ${JSON.stringify(name)}, which is not on the list; \`genenv endpoints\` prints it`,
            exitCodes.badInput,
          );
        return {
          ...list,
          endpoints: Object.fromEntries(Object.entries(list.endpoints).filter(([key]) => key !== name)),
          addresses: list.addresses.filter((origin) => origin !== name),
        };
      }),
    );
}

const EXAMPLES = `
A worker speaks to no other server than these, whatever a file says: the file of a run comes from whoever
starts it, and the list from whoever runs the worker. The list is GENENV_ENDPOINTS, or endpoints.json in the
home folder; a change needs no restart.

Examples:
  genenv endpoints
  genenv endpoints add openai https://api.openai.com/v1 --key-env OPENAI_API_KEY
  genenv endpoints allow http://127.0.0.1:8000`;

async function readList({ env }: CliContext): Promise<EndpointList> {
  const { endpointsSource, readEndpoints } = await import('../../config/endpoints.ts');
  return readEndpoints(endpointsSource(env.GENENV_ENDPOINTS, homeFolder(env)));
}

/** Writes a changed list, if it is a valid one. */
async function changeList(
  { env, print }: CliContext,
  change: (list: EndpointList) => EndpointList,
): Promise<void> {
  const { endpointsFile, endpointsSource, parseEndpoints, readEndpoints } =
    await import('../../config/endpoints.ts');
  const { atomicWrite } = await import('../../store/atomic-write.ts');
  const source = endpointsSource(env.GENENV_ENDPOINTS, homeFolder(env));
  const file = endpointsFile(source);
  if (file === null)
    throw new CliError(
      'GENENV_ENDPOINTS: holds the list itself, which cannot be changed here; change the variable, or set it to a file',
      exitCodes.badInput,
    );
  const list = change(readEndpoints(source));
  const text = `${JSON.stringify(list, null, 2)}\n`;
  parseEndpoints(text, file);
  await atomicWrite(file, text);
  print(`Written to ${file}.`);
}

/** Lines for people; of keys, only where they come from. */
function describeList({ endpoints, addresses }: EndpointList): string[] {
  const named = Object.entries(endpoints).map(([name, { baseUrl, apiKeyEnv, apiKeyFile }]) => {
    const key = apiKeyEnv === undefined ? apiKeyFile : `the variable ${apiKeyEnv}`;
    return `${name}: ${[baseUrl].flat().join(', ')}${key === undefined ? '' : `, key in ${key}`}`;
  });
  const lines = [...named, ...addresses.map((origin) => `${origin}: any file may name it, without a key`)];
  return lines.length === 0
    ? ['The list is empty: workers speak to the servers of their stack alone.']
    : lines;
}
