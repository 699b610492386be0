import type { TemporalOptions } from './options.ts';

type Value = string | number | boolean | readonly string[] | undefined;

/** A `genenv` command as a person enters it in a shell; options that were not given are left out. */
export function commandLine(words: readonly string[], options: Record<string, Value>): string {
  const flags = Object.entries(options).flatMap(([flag, value]) => {
    if (value === undefined || value === false) return [];
    if (value === true) return [flag];
    return [value].flat().flatMap((text) => [flag, String(text)]);
  });
  return ['npx', 'genenv', ...words, ...flags].map(shellWord).join(' ');
}

/** The options that name a server, for the same command again. */
export const temporalFlags = ({ address, namespace, profile }: TemporalOptions): Record<string, Value> => ({
  '--address': address,
  '--namespace': namespace,
  '--profile': profile,
});

/** The command that resumes a run on the server that was asked. */
export const resumeCommand = (id: string, options: TemporalOptions): string =>
  commandLine(['resume', id], temporalFlags(options));

/** The command that ends a workflow on the server that was asked. */
export const cancelCommand = (workflowId: string, options: TemporalOptions): string =>
  commandLine(['cancel', workflowId], temporalFlags(options));

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
