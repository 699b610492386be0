import { constants } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { _Object, CompletedPart, S3ClientConfig } from '@aws-sdk/client-s3';
import { Semaphore } from 'async-mutex';
import { bucketError, isMissing, statusOf } from './bucket-errors.ts';
import { sha256Base64 } from './canonical-json.ts';
import { InvalidArtifact, withDiskErrors } from './errors.ts';
import { MAX_FILE_BYTES, openPlainFile } from './plain-files.ts';
import { openInPlace } from './real-place.ts';

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

/** Called while a large file is sent or fetched, with the bytes done so far. */
export type OnTransferred = (progress: { file: string; bytes: number }) => void;

/** Larger files are sent in parts of this size, one after the other. */
const PART_BYTES = 8 << 20;
/** Files that are sent or fetched at a time: each holds a part in memory. */
const MAX_TRANSFERS = 4;
/** Tries of a request within the client, with pauses that grow, before the activity is tried again. */
const MAX_ATTEMPTS = 6;
/** Tries of a conditional write whose answer says that another one is under way, and of a download. */
const MAX_TRIES = 20;
/** An object that is put again and is older than this is written again: retention spares what is new. */
const RENEWAL_MS = 3_600_000;

/**
 * Objects of a bucket by key, below its prefix. A write is whole or not there; every method throws
 * StoreUnavailable once the client has tried for a while.
 */
export class Bucket {
  readonly #client: S3Client;
  readonly #settings: BucketSettings;
  readonly #transfers = new Semaphore(MAX_TRANSFERS);

  constructor(settings: BucketSettings, client: S3ClientConfig = {}) {
    this.#settings = settings;
    this.#client = new S3Client({
      region: settings.region ?? 'us-east-1',
      ...(settings.endpoint !== undefined && { endpoint: settings.endpoint, forcePathStyle: true }),
      maxAttempts: MAX_ATTEMPTS,
      requestHandler: { connectionTimeout: 10_000, socketTimeout: 60_000 },
      ...client,
    });
  }

  /** Address of the bucket and its prefix, or of a key, for people. */
  address(key = ''): string {
    return `s3://${this.#settings.bucket}/${this.#path(key)}`;
  }

  /**
   * Creates an object if there is none: of several writers with different bytes exactly one gets true. A write
   * whose answer was lost is told by its bytes.
   */
  async create(key: string, data: Uint8Array): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#createOnce(key, data, tries);
      if (outcome === 'created') return true;
      if (outcome === 'busy') continue;
      const present = await this.read(key);
      // Undefined: it was removed meanwhile.
      if (present !== undefined) return present.equals(data);
    }
  }

  /** Writes an object, whatever there is. */
  async put(key: string, data: Uint8Array): Promise<void> {
    await this.#send(key, (place) => this.#client.send(new PutObjectCommand({ ...place, ...bodyOf(data) })));
  }

  /** @throws InvalidArtifact beyond the limit, in bytes */
  async read(key: string, limit = MAX_FILE_BYTES): Promise<Buffer | undefined> {
    return this.#send(key, async (place) => {
      const command = new GetObjectCommand({ ...place, ChecksumMode: 'ENABLED' });
      for (let tries = 1; ; tries += 1) {
        try {
          const { Body, ContentLength = 0 } = await this.#client.send(command);
          if (ContentLength <= limit) return Buffer.from(await Body!.transformToByteArray());
          (Body as unknown as { destroy(): void }).destroy();
          const problem = `it has ${ContentLength} bytes, at most ${limit} are read`;
          throw new InvalidArtifact(this.address(key), problem);
        } catch (error) {
          if (isMissing(error)) return undefined;
          // The client tries a request again, but not the body of its answer.
          if (!isCut(error) || tries >= MAX_ATTEMPTS) throw error;
          await sleep(pauseMs(tries));
        }
      }
    });
  }

  /** Size and age of an object; undefined if there is none. */
  async measure(key: string): Promise<BucketEntry | undefined> {
    return this.#send(key, async (place) => {
      try {
        const {
          ContentLength: Size,
          LastModified,
          ETag,
        } = await this.#client.send(new HeadObjectCommand(place));
        return entryOf(key, { Size, LastModified, ETag });
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    });
  }

  /** The objects whose keys begin with `prefix`, sorted by key. */
  async list(prefix: string): Promise<BucketEntry[]> {
    const entries: BucketEntry[] = [];
    for await (const { Contents = [] } of this.#pages(prefix))
      for (const object of Contents) entries.push(entryOf(this.#keyOf(object.Key ?? ''), object));
    return entries;
  }

  /** Names of the folders directly below `prefix`, which ends with a slash; sorted. */
  async folders(prefix: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { CommonPrefixes = [] } of this.#pages(prefix, '/'))
      for (const { Prefix = '' } of CommonPrefixes) names.push(this.#keyOf(Prefix).slice(prefix.length, -1));
    return names;
  }

  /** Removes an object; nothing if there is none. */
  async remove(key: string): Promise<void> {
    await this.#send(key, (place) => this.#client.send(new DeleteObjectCommand(place)));
  }

  /**
   * Sends a file whose key names its bytes: one that is there is right, unless its size differs. What was put
   * long ago is written again, since retention spares what is new.
   * @throws the signal's reason when it aborts, between two parts
   */
  async upload(
    key: string,
    file: string,
    { onTransferred, signal }: { onTransferred?: OnTransferred | undefined; signal?: AbortSignal } = {},
  ): Promise<void> {
    await this.#transfers.runExclusive(async () => {
      await using handle = await openPlainFile(file, constants.O_RDONLY);
      const { size } = await handle.stat();
      const read = async (from: number): Promise<Buffer> => {
        signal?.throwIfAborted();
        if (from > 0) onTransferred?.({ file, bytes: from });
        const part = Buffer.alloc(Math.min(PART_BYTES, size - from));
        await handle.read(part, 0, part.length, from);
        return part;
      };
      if (size > PART_BYTES) {
        if (!isCurrent(await this.measure(key), size)) await this.#uploadParts(key, size, read);
        return;
      }
      const data = await read(0);
      for (let tries = 1; ; tries += 1) {
        const outcome = await this.#createOnce(key, data, tries);
        if (outcome === 'created') return;
        if (outcome === 'busy') continue;
        if (!isCurrent(await this.measure(key), size)) await this.put(key, data);
        return;
      }
    });
  }

  /**
   * Fetches an object into a new file, continuing where a connection was cut.
   * @param limit in bytes: what follows is not fetched
   * @returns false if there is no such object; then there is no file
   */
  async download(key: string, file: string, limit: number, onTransferred?: OnTransferred): Promise<boolean> {
    return this.#transfers.runExclusive(async () => {
      let body = await this.#open(key, 0);
      if (body === undefined) return false;
      await using handle = await openInPlace(file, 'wx');
      let done = 0;
      for (let tries = 1; ; tries += 1) {
        const before = done;
        try {
          for await (const chunk of body) {
            const part = chunk.subarray(0, limit - done);
            await withDiskErrors(file, () => handle.writeFile(part));
            const parts = Math.floor(done / PART_BYTES);
            done += part.length;
            if (Math.floor(done / PART_BYTES) > parts) onTransferred?.({ file, bytes: done });
            if (done >= limit) break;
          }
          await withDiskErrors(file, () => handle.sync());
          return true;
        } catch (error) {
          if (statusOf(error) === undefined && !isCut(error)) throw error;
          if (done === before && tries >= MAX_TRIES) throw bucketError(this.address(key), error);
          await sleep(pauseMs(tries));
          body = (await this.#open(key, done)) ?? emptyBody();
        }
      }
    });
  }

  /** Bytes of an object from a position on; undefined if there is none. */
  async #open(key: string, from: number): Promise<AsyncIterable<Buffer> | undefined> {
    return this.#send(key, async (place) => {
      try {
        const range = from === 0 ? {} : { Range: `bytes=${from}-` };
        const { Body } = await this.#client.send(new GetObjectCommand({ ...place, ...range }));
        return Body as unknown as AsyncIterable<Buffer>;
      } catch (error) {
        if (isMissing(error)) return undefined;
        // All of it is there.
        if (statusOf(error) === 416) return emptyBody();
        throw error;
      }
    });
  }

  async #createOnce(key: string, data: Uint8Array, tries: number): Promise<'created' | 'present' | 'busy'> {
    return this.#send(key, async (place) => {
      try {
        const condition = { IfNoneMatch: '*' };
        await this.#client.send(new PutObjectCommand({ ...place, ...bodyOf(data), ...condition }));
        return 'created';
      } catch (error) {
        return this.#refusal(error, tries);
      }
    });
  }

  /** What a refused conditional write says: another was first, or is under way. */
  async #refusal(error: unknown, tries: number): Promise<'present' | 'busy'> {
    if (statusOf(error) === 412) return 'present';
    if (statusOf(error) !== 409 || tries >= MAX_TRIES) throw error;
    await sleep(pauseMs(tries));
    return 'busy';
  }

  async #uploadParts(key: string, size: number, read: (from: number) => Promise<Buffer>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#send(key, async (place) => {
        const algorithm = { ChecksumAlgorithm: 'SHA256' } as const;
        const { UploadId } = await this.#client.send(
          new CreateMultipartUploadCommand({ ...place, ...algorithm }),
        );
        try {
          const parts: CompletedPart[] = [];
          for (let from = 0; from < size; from += PART_BYTES) {
            const PartNumber = parts.length + 1;
            const part = { ...place, UploadId, PartNumber, ...bodyOf(await read(from)) };
            const { ETag } = await this.#client.send(new UploadPartCommand(part));
            parts.push({ PartNumber, ETag, ChecksumSHA256: part.ChecksumSHA256 });
          }
          const upload = { ...place, UploadId, MultipartUpload: { Parts: parts } };
          await this.#client.send(new CompleteMultipartUploadCommand(upload));
          return 'created';
        } catch (error) {
          await this.#client
            .send(new AbortMultipartUploadCommand({ ...place, UploadId }))
            .catch(() => undefined);
          return this.#refusal(error, tries);
        }
      });
      if (outcome !== 'busy') return;
    }
  }

  async *#pages(prefix: string, delimiter?: string) {
    let token: string | undefined;
    do {
      const page = await this.#send(prefix, ({ Bucket }) =>
        this.#client.send(
          new ListObjectsV2Command({
            Bucket,
            Prefix: this.#path(prefix),
            ContinuationToken: token,
            Delimiter: delimiter,
          }),
        ),
      );
      yield page;
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }

  async #send<T>(key: string, send: (place: { Bucket: string; Key: string }) => Promise<T>): Promise<T> {
    try {
      return await send({ Bucket: this.#settings.bucket, Key: this.#path(key) });
    } catch (error) {
      throw bucketError(this.address(key), error);
    }
  }

  #path(key: string): string {
    const { prefix } = this.#settings;
    return prefix === '' ? key : `${prefix}/${key}`;
  }

  #keyOf(path: string): string {
    const { prefix } = this.#settings;
    return prefix === '' ? path : path.slice(prefix.length + 1);
  }
}

const entryOf = (key: string, { Size = 0, LastModified, ETag = '' }: _Object): BucketEntry => ({
  key,
  bytes: Size,
  modifiedMs: LastModified?.getTime() ?? 0,
  etag: ETag,
});

const bodyOf = (data: Uint8Array) => ({ Body: data, ChecksumSHA256: sha256Base64(data) });

const isCurrent = (entry: BucketEntry | undefined, bytes: number): boolean =>
  entry?.bytes === bytes && entry.modifiedMs > Date.now() - RENEWAL_MS;

/** Whether a stream ended before its end. */
const isCut = (error: unknown): boolean =>
  error instanceof Error &&
  /aborted|ECONNRESET|EPIPE|socket|premature|terminated|timed? ?out/i.test(`${error.name} ${error.message}`);

const pauseMs = (tries: number): number => Math.min(2_000, 25 * 2 ** tries) * (0.5 + Math.random() / 2);

async function* emptyBody(): AsyncGenerator<Buffer> {
  // Nothing is left to fetch.
}
