/** Requests to a bucket, as one client sends them: with growing pauses, conditions and checksums. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import type {
  $Command,
  _Object,
  HeadObjectCommandOutput,
  S3ClientConfig,
  S3ClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-s3';
import { bucketError, hasRequestId, isMissing, statusOf } from './bucket-errors.ts';
import { sha256Base64 } from './canonical-json.ts';

/** Where a store in a bucket is; credentials come from the environment, as all tools of S3 read them. */
export type BucketSettings = {
  bucket: string;
  /** Before each key, without a slash at either end; empty = none. */
  prefix: string;
  /** Of a server other than Amazon's. */
  endpoint?: string | undefined;
  region?: string | undefined;
};

/** `etag` changes with the bytes. */
export type BucketEntry = { key: string; bytes: number; modifiedMs: number; etag: string };

/** Tries of a request within the client, with pauses that grow, before the activity is tried again. */
export const MAX_ATTEMPTS = 6;
/** Tries of a conditional write whose answer says that another one is under way, and of a download. */
export const MAX_TRIES = 20;

/**
 * How long a request is waited for, all its tries together: less than the shortest time after which an attempt is given
 * up, so that a bucket that is silent is an outage, which is waited for, and no lost attempt.
 */
const ANSWER_MS = 8_000;
/** The slowest connection on which a body is waited for, in bytes a millisecond. */
const LEAST_RATE = 32;

/** Where a command goes. */
export type Place = { Bucket: string; Key: string };

/** Every method throws StoreUnavailable once the client has tried for a while. */
export class BucketRequests {
  readonly #client: S3Client;
  readonly #settings: BucketSettings;
  readonly #answerMs: number;

  constructor(settings: BucketSettings, client: S3ClientConfig, answerMs = ANSWER_MS) {
    this.#settings = settings;
    this.#answerMs = answerMs;
    this.#client = new S3Client({
      region: settings.region ?? 'us-east-1',
      ...(settings.endpoint !== undefined && { endpoint: settings.endpoint, forcePathStyle: true }),
      maxAttempts: MAX_ATTEMPTS,
      // A body that stalls is cut before the attempt is given up.
      requestHandler: { connectionTimeout: 3_000, socketTimeout: 30_000 },
      ...client,
    });
  }

  /**
   * Sends a command, and waits until its answer begins.
   * @param limitFactor how many times as long as others the command may take, apart from the bytes that it sends
   */
  ask<Input extends ServiceInputTypes, Output extends ServiceOutputTypes>(
    command: $Command<Input, Output, S3ClientResolvedConfig, ServiceInputTypes, ServiceOutputTypes>,
    limitFactor = 1,
  ): Promise<Output> {
    const { Body } = command.input as { Body?: unknown };
    const bytes = Body instanceof Uint8Array ? Body.length : 0;
    const limitMs = limitFactor * this.#answerMs + bytes / LEAST_RATE;
    const overdue = new AbortController();
    const timer = setTimeout(() => overdue.abort(), limitMs);
    return this.#client
      .send(command, { abortSignal: overdue.signal })
      .catch((error: unknown) => {
        if (!overdue.signal.aborted) throw error;
        const problem = new Error(`no answer within ${(limitMs / 1000).toFixed(1)} s, or refusals alone`, {
          cause: error,
        });
        throw Object.assign(problem, { name: 'TimeoutError' });
      })
      .finally(() => clearTimeout(timer));
  }

  /** Address of the bucket and its prefix, or of a key, for people. */
  address(key: string): string {
    return `s3://${this.#settings.bucket}/${this.path(key)}`;
  }

  /** A key with the prefix before it. */
  path(key: string): string {
    const { prefix } = this.#settings;
    return prefix === '' ? key : `${prefix}/${key}`;
  }

  /** A path without the prefix. */
  keyOf(path: string): string {
    const { prefix } = this.#settings;
    return prefix === '' ? path : path.slice(prefix.length + 1);
  }

  async send<T>(key: string, send: (place: Place) => Promise<T>): Promise<T> {
    try {
      return await send({ Bucket: this.#settings.bucket, Key: this.path(key) });
    } catch (error) {
      throw bucketError(this.address(key), error);
    }
  }

  /** Creates an object if there is none. */
  async createOnce(key: string, data: Uint8Array, tries: number): Promise<'created' | 'present' | 'busy'> {
    return this.send(key, async (place) => {
      try {
        const condition = { IfNoneMatch: '*' };
        await this.ask(new PutObjectCommand({ ...place, ...bodyOf(data), ...condition }));
        return 'created';
      } catch (error) {
        return this.refusal(error, tries);
      }
    });
  }

  /** Writes an object, whatever there is. */
  async put(key: string, data: Uint8Array): Promise<void> {
    await this.send(key, (place) => this.ask(new PutObjectCommand({ ...place, ...bodyOf(data) })));
  }

  /**
   * Size and age of an object; undefined if there is none. The answer to a HEAD has no body, and so no code: a 404
   * with a request id is the server's. One without may be a proxy's: a GET asks again, whose answer has a code.
   */
  async measure(key: string): Promise<BucketEntry | undefined> {
    return this.send(key, async (place) => {
      try {
        return measuredEntry(key, await this.ask(new HeadObjectCommand(place)));
      } catch (error) {
        if (statusOf(error) !== 404) throw error;
        if (hasRequestId(error)) return undefined;
      }
      try {
        const { Body, ...facts } = await this.ask(new GetObjectCommand(place));
        (Body as unknown as { destroy(): void }).destroy();
        return measuredEntry(key, facts);
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
  }

  /** What a refused conditional write says: another was first, or is under way. */
  async refusal(error: unknown, tries: number): Promise<'present' | 'busy'> {
    if (statusOf(error) === 412) return 'present';
    if (statusOf(error) !== 409 || tries >= MAX_TRIES) throw error;
    await sleep(pauseMs(tries));
    return 'busy';
  }
}

export const entryOf = (key: string, { Size = 0, LastModified, ETag = '' }: _Object): BucketEntry => ({
  key,
  bytes: Size,
  modifiedMs: LastModified?.getTime() ?? 0,
  etag: ETag,
});

const measuredEntry = (
  key: string,
  { ContentLength: Size, LastModified, ETag }: HeadObjectCommandOutput,
): BucketEntry => entryOf(key, { Size, LastModified, ETag });

export const bodyOf = (data: Uint8Array) => ({ Body: data, ChecksumSHA256: sha256Base64(data) });

/** Whether a stream ended before its end. */
export const isCut = (error: unknown): boolean =>
  error instanceof Error &&
  /aborted|ECONNRESET|EPIPE|socket|premature|terminated|timed? ?out/i.test(`${error.name} ${error.message}`);

export const pauseMs = (tries: number): number =>
  Math.min(2_000, 25 * 2 ** tries) * (0.5 + Math.random() / 2);
