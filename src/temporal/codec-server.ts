import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { z } from 'zod';
import { createBoundedServer } from '../async/bounded-server.ts';
import { bearerOf, isEqualSecret, Refusal, requireHost } from '../async/refusal.ts';
import type { EncryptionCodec } from './payload-codec.ts';
import { PayloadUnreadable } from './payload-codec.ts';
import { fromJsonPayload, jsonPayloadSchema, toJsonPayload } from './json-payload.ts';

export interface CodecServerOptions {
  codec: EncryptionCodec;
  /** What a request must present, as `Authorization: Bearer <token>` or as the first part of its path. */
  token: string;
  /** Origins of web pages that may ask, such as that of Temporal's UI. */
  origins: readonly string[];
  /** Values of the Host header that are answered; a page under another name was bound to this address. */
  hosts: readonly string[];
  /** Whether it encrypts, too. */
  encode: boolean;
}

/** Temporal keeps no message above 4 MiB, whose base64 is a third longer. */
const maxBodyBytes = 8 * 2 ** 20;
const maxPayloads = 10_000;
/** Of JSON: more than so many payloads of four metadata fields have. Wrong ones would each become a problem. */
const maxValues = 10 * maxPayloads;
const bodySchema = z.object({
  payloads: z.array(z.unknown()).max(maxPayloads).pipe(z.array(jsonPayloadSchema)),
});

/**
 * A codec server as Temporal's UI and CLI ask one: POST `/decode` (and `/encode`) with `{payloads: [...]}`.
 * Payloads that are not encrypted come back as they are.
 */
export function createCodecServer(options: CodecServerOptions): Server {
  return createBoundedServer((request, response) => {
    respond(request, response, options).catch((error: unknown) => {
      const { status, message } = error instanceof Refusal ? error : new Refusal(500, 'internal error');
      // What is left of a body that nobody reads ends with the connection.
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
      response.end(JSON.stringify({ message }));
    });
  });
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  options: CodecServerOptions,
): Promise<void> {
  response.setHeader('cache-control', 'no-store');
  response.setHeader('x-content-type-options', 'nosniff');
  requireHost(request, options.hosts);
  allowOrigin(request, response, options.origins);
  if (request.method === 'OPTIONS') {
    response.writeHead(204).end();
    return;
  }
  const verb = authorize(request, options.token);
  if (verb !== 'decode' && !(verb === 'encode' && options.encode))
    throw new Refusal(404, verb === 'encode' ? 'this server only decodes (--encode)' : 'POST /decode');
  if (request.method !== 'POST') throw new Refusal(405, 'expected POST');
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
    throw new Refusal(415, 'expected application/json');
  const payloads = parseBody(await readBody(request)).payloads.map(fromJsonPayload);
  const converted = await options.codec[verb](payloads).catch((error: unknown) => {
    throw error instanceof PayloadUnreadable ? new Refusal(400, error.message) : error;
  });
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ payloads: converted.map(toJsonPayload) }));
}

/** Requests of programs have no origin. @throws Refusal for a page that is not listed */
function allowOrigin(
  { headers }: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
): void {
  response.setHeader('vary', 'origin');
  const { origin } = headers;
  if (origin === undefined) return;
  if (!origins.includes(origin)) throw new Refusal(403, 'this origin is not allowed (--origin)');
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-allow-methods', 'POST');
  response.setHeader('access-control-allow-headers', 'authorization, content-type, x-namespace');
  response.setHeader('access-control-max-age', '600');
}

/** The last part of the path, of a request that has the token. @throws Refusal */
function authorize(request: IncomingMessage, token: string): string {
  const { url = '' } = request;
  const parts = url.split('?')[0]!.split('/').slice(1);
  const inPath = parts.length === 2 ? parts[0] : undefined;
  if (!isEqualSecret(bearerOf(request), token) && !isEqualSecret(inPath ?? '', token))
    throw new Refusal(401, 'expected the token, as Authorization: Bearer <token>');
  return parts.at(-1) ?? '';
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxBodyBytes) throw new Refusal(413, `expected at most ${maxBodyBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Each value of a JSON text is the first of an array or an object, or follows a comma; base64 has none of these
 * characters. So a text with too many is refused before it is parsed.
 */
function hasTooManyValues(body: Buffer): boolean {
  let marks = 0;
  for (const byte of body) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) marks += 1;
  return marks > maxValues;
}

function parseBody(body: Buffer): z.infer<typeof bodySchema> {
  if (hasTooManyValues(body)) throw new Refusal(413, `expected at most ${maxValues} values`);
  try {
    return bodySchema.parse(JSON.parse(body.toString('utf8')));
  } catch {
    throw new Refusal(400, 'expected JSON: {"payloads": [{"metadata": {…}, "data": "…"}]}, values in base64');
  }
}
