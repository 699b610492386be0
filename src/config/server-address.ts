/** Addresses of servers as files write them, and the name of the variable with a server's key. */
import { z } from 'zod';

/** Begins an address that stands for an endpoint of the operator's list: `endpoint:vllm`. */
const ENDPOINT = 'endpoint:';

const MAX_URL_LENGTH = 2048;

const hasNoUser = (url: string): boolean => {
  const { username, password } = new URL(url);
  return username === '' && password === '';
};
const withoutUser = { error: 'expected an address without user and password: keys are in variables' };

/** The address itself. */
export const plainHttpUrl = z
  .url({ protocol: /^https?$/ })
  .max(MAX_URL_LENGTH)
  .refine((url) => !URL.canParse(url) || hasNoUser(url), withoutUser);

/** An address, or the name of an endpoint on the list of the worker's operator. */
export const httpUrl = z
  .url({ protocol: /^(https?|endpoint)$/ })
  .max(MAX_URL_LENGTH)
  .refine((url) => !URL.canParse(url) || hasNoUser(url), withoutUser);

export const apiKeyEnv = z
  .string()
  .min(1)
  .max(128)
  .nullable()
  .default(null)
  .describe('Name of the environment variable with the key; never the key.');

/** The endpoint that an address stands for; undefined for a plain address. */
export const endpointOf = (address: string): string | undefined =>
  address.startsWith(ENDPOINT) ? address.slice(ENDPOINT.length) : undefined;
