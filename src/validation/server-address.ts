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

const hasNoFragment = (url: string): boolean => !url.includes('#');
const withoutFragment = { error: 'expected an address without "#": no server gets what follows it' };
const hasNoQuery = (url: string): boolean => !url.includes('?');
const withoutQuery = {
  error: 'expected an address without "?": paths such as /completions are added to its end',
};
/** Schemes are alike in either case, names of endpoints are not. */
const isPlainEndpoint = (url: string): boolean => !/^endpoint:/i.test(url) || url.startsWith(ENDPOINT);
const lowerCase = { error: 'expected `endpoint:` in lower case before the name of an endpoint' };

/** The address itself, of a model server or a search endpoint. */
export const plainHttpUrl = z
  .url({ protocol: /^https?$/ })
  .max(MAX_URL_LENGTH)
  .refine((url) => !URL.canParse(url) || hasNoUser(url), withoutUser)
  .refine(hasNoFragment, withoutFragment);

/** The address of a search endpoint, or the name of one on the list of the worker's operator. */
export const searchUrl = z
  .url({ protocol: /^(https?|endpoint)$/ })
  .max(MAX_URL_LENGTH)
  .refine((url) => !URL.canParse(url) || hasNoUser(url), withoutUser)
  .refine(hasNoFragment, withoutFragment)
  .refine(isPlainEndpoint, lowerCase);

/** The same of a model server, whose clients add paths to the address. */
export const httpUrl = searchUrl.refine(hasNoQuery, withoutQuery);

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
