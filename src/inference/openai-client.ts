import { OpenAI } from 'openai';
import { serverFetch } from './server-urls.ts';
import type { ServerAddress } from './server-urls.ts';

/**
 * OpenAI's client for one server. It never retries, and takes nothing from the environment of this process, which
 * may name an organization, headers or a log for another server: `serverFetch` sends the key of this one alone.
 */
export const createOpenAiClient = (server: ServerAddress): OpenAI =>
  new OpenAI({
    baseURL: server.baseUrl,
    apiKey: 'sent by serverFetch',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    timeout: server.timeoutMs,
    fetch: (url, request) => serverFetch(server)(url instanceof Request ? url.url : url, request),
  });
