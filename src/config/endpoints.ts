/**
 * The operator's list of servers. Who starts a run names servers, and variables that hold keys; who runs the
 * worker decides by this list which of them it speaks to, and which key goes where.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { parseFile } from '../validation/parse-file.ts';
import { plainHttpUrl } from '../validation/server-address.ts';

const endpointNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const endpointNameRule =
  'expected 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first';
const originPattern = /^https?:\/\/(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]{1,253})(:(\d{1,5}|\*))?$/;

const endpointSchema = z
  .strictObject({
    baseUrl: z
      .union([plainHttpUrl, z.array(plainHttpUrl).min(1).max(256)])
      .describe('Address, or those of several servers of the same models.'),
    apiKeyEnv: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'expected the name of an environment variable')
      .optional()
      .describe('Variable of the worker’s environment with the key; with `_FILE` added, with its file.'),
    apiKeyFile: z.string().min(1).max(4096).optional().describe('File with the key.'),
  })
  .refine(({ apiKeyEnv, apiKeyFile }) => apiKeyEnv === undefined || apiKeyFile === undefined, {
    path: ['apiKeyFile'],
    error: 'expected apiKeyEnv or apiKeyFile, not both',
  });

const endpointsSchema = z
  .strictObject({
    endpoints: z
      .record(z.string().regex(endpointNamePattern, endpointNameRule), endpointSchema)
      .default({})
      .describe('Servers by name. A file names one as `endpoint:NAME`, or by its address and key variable.'),
    addresses: z
      .array(
        z
          .string()
          .max(300)
          .regex(originPattern, 'expected an origin such as "http://127.0.0.1:8000" or "http://127.0.0.1:*"'),
      )
      .max(1000)
      .default([])
      .describe('Origins that files may name, without a key; `*` stands for any port.'),
  })
  .describe('The servers that a worker may speak to.');

export type Endpoint = z.infer<typeof endpointSchema>;
export type EndpointList = z.infer<typeof endpointsSchema>;

/** Where the list of a worker is: the file, or the JSON itself. */
export interface EndpointsSource {
  /** Of `GENENV_ENDPOINTS`; undefined if it is not set. */
  variable: string | undefined;
  /** Used if the variable is not set, and the file exists. */
  homeFile: string;
}

/** @param variable `GENENV_ENDPOINTS` */
export const endpointsSource = (variable: string | undefined, home: string): EndpointsSource => ({
  variable,
  homeFile: join(home, 'endpoints.json'),
});

/** The file that holds the list; null if the variable holds it. */
export const endpointsFile = ({ variable, homeFile }: EndpointsSource): string | null =>
  variable?.trimStart().startsWith('{') === true ? null : (variable ?? homeFile);

/**
 * The list as it is now: it may be changed while a worker runs. Empty if there is none.
 * @throws InvalidConfig naming the file, or the field, what it holds and what is allowed
 */
export function readEndpoints({ variable, homeFile }: EndpointsSource): EndpointList {
  const file = endpointsFile({ variable, homeFile });
  if (file === null) return parseEndpoints(variable!, 'GENENV_ENDPOINTS');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && variable === undefined) return { endpoints: {}, addresses: [] };
    throw new InvalidConfig(`GENENV_ENDPOINTS: ${file} cannot be read (${code ?? String(error)})`);
  }
  return parseEndpoints(text, file);
}

/** @param source where the text is, for errors @throws InvalidConfig */
export function parseEndpoints(text: string, source: string): EndpointList {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new InvalidConfig(`${source}: expected JSON, such as {"endpoints": {"vllm": {"baseUrl": "…"}}}`);
  }
  return parseFile('endpoints', endpointsSchema, raw, 'endpoints.json');
}
