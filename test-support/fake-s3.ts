import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Bucket } from '../src/store/bucket.ts';
import { sha256Base64 } from '../src/store/canonical-json.ts';

/**
 * What becomes of a request: its answer is lost after it was done, the server is busy or silent, or it cuts the body
 * short.
 */
export type S3Fault = 'lost' | 'busy' | 'conflict' | 'cut' | 'silent';
export type S3Request = { method: string; key: string; query: URLSearchParams };
export type S3Answer = { status: number; headers?: Record<string, string | number>; data?: Buffer };

type Stored = { data: Buffer; etag: string; modified: Date };

/**
 * A bucket in memory that speaks as S3 does, as far as the store asks: conditional writes, parts, ranges, lists.
 * Checksums are compared. `fault` says which requests fail, and how.
 */
export class FakeS3 implements AsyncDisposable {
  readonly objects = new Map<string, Stored>();
  /** Requests that were received, by method; lists are `LIST`. */
  readonly counts: Record<string, number> = {};
  /** As servers do that let every writer win. */
  ignoresConditions = false;
  /** Whether its answers have a request id, as those of S3 and most servers do. */
  givesRequestIds = true;
  /** An answer that is given here is that of a proxy in front of the server. */
  fault: (request: S3Request) => S3Fault | S3Answer | undefined = () => undefined;
  readonly #uploads = new Map<string, Map<number, Buffer>>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<FakeS3> {
    const server = createServer();
    const fake = new FakeS3(server);
    server.on('request', (request, response) => void fake.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * A client whose bucket is this one.
   * @param prefix before its keys
   * @param maxAttempts of each request
   * @param answerMs how long an answer is waited for
   */
  bucket(prefix = '', maxAttempts = 6, answerMs?: number): Bucket {
    const client = { credentials: fakeCredentials, maxAttempts };
    return new Bucket({ bucket: 'runs', prefix, endpoint: this.endpoint }, client, answerMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://fake');
    const key = decodeURIComponent(url.pathname).replace(/^\/runs\/?/, '');
    const { method = '' } = request;
    const name = method === 'GET' && url.searchParams.has('list-type') ? 'LIST' : method;
    this.counts[name] = (this.counts[name] ?? 0) + 1;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const fault = this.fault({ method: name, key, query: url.searchParams });
    if (typeof fault === 'object') {
      send(response, name, fault);
      return;
    }
    if (fault === 'silent') return;
    if (fault === 'busy' || fault === 'conflict') {
      const { status, code } = refusals[fault];
      send(response, name, this.#withRequestId(problem(status, code)));
      return;
    }
    const body = Buffer.concat(parts);
    if (fault === 'lost') {
      this.#handle(name, { key, query: url.searchParams, body, headers: request.headers });
      request.socket.destroy();
      return;
    }
    const received = { key, query: url.searchParams, body, headers: request.headers };
    const answer = this.#withRequestId(this.#handle(name, received));
    if (fault !== 'cut') {
      send(response, name, answer);
      return;
    }
    const { status, headers, data = Buffer.alloc(0) } = answer;
    response.writeHead(status, { 'content-length': data.length, ...headers });
    response.write(data.subarray(0, data.length >> 1), () => request.socket.destroy());
  }

  #withRequestId(answer: S3Answer): S3Answer {
    if (!this.givesRequestIds) return answer;
    return { ...answer, headers: { 'x-amz-request-id': randomUUID(), ...answer.headers } };
  }

  #handle(method: string, { key, query, body, headers }: Received): S3Answer {
    const stored = this.objects.get(key);
    const checksum = headers['x-amz-checksum-sha256'];
    if (method === 'PUT' && checksum !== undefined && checksum !== sha256Base64(body))
      return problem(400, 'BadDigest');
    const uploadId = query.get('uploadId');
    if (method === 'PUT' && uploadId !== null) {
      this.#uploads.get(uploadId)?.set(Number(query.get('partNumber')), body);
      return { status: 200, headers: { etag: etagOf(body) } };
    }
    if (method === 'POST' && query.has('uploads')) {
      const id = randomUUID();
      this.#uploads.set(id, new Map());
      return xml(
        200,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    if (method === 'POST' && uploadId !== null) {
      const parts = [...(this.#uploads.get(uploadId) ?? [])].sort(([a], [b]) => a - b);
      this.#store(key, Buffer.concat(parts.map(([, part]) => part)));
      return xml(200, '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>');
    }
    switch (method) {
      case 'PUT':
        if (headers['if-none-match'] === '*' && stored !== undefined && !this.ignoresConditions)
          return problem(412, 'PreconditionFailed');
        this.#store(key, body);
        return { status: 200, headers: { etag: etagOf(body) } };
      case 'HEAD':
      case 'GET': {
        if (stored === undefined) return problem(404, 'NoSuchKey');
        const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0);
        if (from > 0 && from >= stored.data.length) return problem(416, 'InvalidRange');
        const facts = { etag: stored.etag, 'last-modified': stored.modified.toUTCString() };
        const data = stored.data.subarray(from);
        return { status: from > 0 ? 206 : 200, headers: { ...facts, 'content-length': data.length }, data };
      }
      case 'LIST':
        return this.#list(query);
      case 'DELETE':
        if (uploadId === null) this.objects.delete(key);
        else this.#uploads.delete(uploadId);
        return { status: 204 };
      default:
        return problem(405, 'MethodNotAllowed');
    }
  }

  #store(key: string, data: Buffer): void {
    this.objects.set(key, { data, etag: etagOf(data), modified: new Date() });
  }

  /** Pages of two, so that whoever lists must follow them. */
  #list(query: URLSearchParams): S3Answer {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? '';
    const names = new Set<string>();
    for (const key of [...this.objects.keys()].filter((name) => name.startsWith(prefix)).sort()) {
      const end = query.get('delimiter') === '/' ? key.indexOf('/', prefix.length) : -1;
      names.add(end === -1 ? key : key.slice(0, end + 1));
    }
    const rest = [...names].filter((name) => name > after);
    const page = rest.slice(0, PAGE);
    const lines = page.map((name) => {
      const stored = this.objects.get(name);
      if (stored === undefined) return `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`;
      const { data, etag, modified } = stored;
      return `<Contents><Key>${name}</Key><LastModified>${modified.toISOString()}</LastModified><ETag>${etag}</ETag><Size>${data.length}</Size></Contents>`;
    });
    const next = rest.length > PAGE ? `<NextContinuationToken>${page.at(-1)!}</NextContinuationToken>` : '';
    return xml(200, `<ListBucketResult>${lines.join('')}${next}</ListBucketResult>`);
  }
}

const PAGE = 2;
const refusals = {
  busy: { status: 503, code: 'SlowDown' },
  conflict: { status: 409, code: 'ConditionalRequestConflict' },
};
export const fakeCredentials = { accessKeyId: 'test', secretAccessKey: 'test' };

type Received = { key: string; query: URLSearchParams; body: Buffer; headers: IncomingMessage['headers'] };

const etagOf = (data: Buffer): string => `"${createHash('md5').update(data).digest('hex')}"`;
const xml = (status: number, text: string): S3Answer => ({
  status,
  headers: { 'content-type': 'application/xml' },
  data: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${text}`),
});
const problem = (status: number, code: string): S3Answer =>
  xml(status, `<Error><Code>${code}</Code><Message>${code}</Message></Error>`);

/** A HEAD is answered without the body, whose length is said. */
function send(response: ServerResponse, method: string, { status, headers, data }: S3Answer): void {
  response.writeHead(status, { 'content-length': data?.length ?? 0, ...headers });
  response.end(method === 'HEAD' ? undefined : data);
}
