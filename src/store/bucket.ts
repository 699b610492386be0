import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { Semaphore } from 'async-mutex';
import { isMissing } from './bucket-errors.ts';
import { BucketRequests, entryOf, isCut, MAX_ATTEMPTS, pauseMs } from './bucket-requests.ts';
import type { BucketEntry, BucketSettings } from './bucket-requests.ts';
import { fetchFile, hashObject, sendFile } from './bucket-transfers.ts';
import type { OnTransferred, SendingOptions } from './bucket-transfers.ts';
import { InvalidArtifact } from './errors.ts';
import { MAX_FILE_BYTES } from './plain-files.ts';

/** Files that are sent or fetched at a time: each holds a part in memory. */
const MAX_TRANSFERS = 4;
/**
 * Objects of a bucket by key, below its prefix. A write is whole or not there; every method throws
 * StoreUnavailable once the client has tried for a while.
 */
export class Bucket {
  readonly #requests: BucketRequests;
  readonly #transfers = new Semaphore(MAX_TRANSFERS);

  /** @param answerMs how long an answer is waited for */
  constructor(settings: BucketSettings, client: S3ClientConfig = {}, answerMs?: number) {
    this.#requests = new BucketRequests(settings, client, answerMs);
  }

  /** Address of the bucket and its prefix, or of a key, for people. */
  address(key = ''): string {
    return this.#requests.address(key);
  }

  /**
   * Creates an object if there is none: of several writers with different bytes exactly one gets true. A write
   * whose answer was lost is told by its bytes.
   */
  async create(key: string, data: Uint8Array): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.#requests.createOnce(key, data, tries);
      if (outcome === 'created') return true;
      if (outcome === 'busy') continue;
      const present = await this.read(key);
      // Undefined: it was removed meanwhile.
      if (present !== undefined) return present.equals(data);
    }
  }

  /** Writes an object, whatever there is. */
  put(key: string, data: Uint8Array): Promise<void> {
    return this.#requests.put(key, data);
  }

  /** @throws InvalidArtifact beyond the limit, in bytes */
  async read(key: string, limit = MAX_FILE_BYTES): Promise<Buffer | undefined> {
    return this.#requests.send(key, async (place) => {
      const command = new GetObjectCommand({ ...place, ChecksumMode: 'ENABLED' });
      for (let tries = 1; ; tries += 1) {
        const answer = await this.#requests.ask(command).catch((error: unknown) => {
          if (isMissing(error)) return undefined;
          throw error;
        });
        if (answer === undefined) return undefined;
        const { Body, ContentLength = 0 } = answer;
        if (ContentLength > limit) {
          (Body as unknown as { destroy(): void }).destroy();
          const problem = `it has ${ContentLength} bytes, at most ${limit} are read`;
          throw new InvalidArtifact(this.address(key), problem);
        }
        try {
          return Buffer.from(await Body!.transformToByteArray());
        } catch (error) {
          // The client tries a request again, but not the body of its answer.
          if (!isCut(error) || tries >= MAX_ATTEMPTS) throw error;
          await sleep(pauseMs(tries));
        }
      }
    });
  }

  /** Size and age of an object; undefined if there is none. */
  measure(key: string): Promise<BucketEntry | undefined> {
    return this.#requests.measure(key);
  }

  /** The objects whose keys begin with `prefix`, sorted by key. */
  async list(prefix: string): Promise<BucketEntry[]> {
    const entries: BucketEntry[] = [];
    for await (const { Contents = [] } of this.#pages(prefix))
      for (const object of Contents) entries.push(entryOf(this.#requests.keyOf(object.Key ?? ''), object));
    return entries;
  }

  /** Names of the folders directly below `prefix`, which ends with a slash; sorted. */
  async folders(prefix: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { CommonPrefixes = [] } of this.#pages(prefix, '/'))
      for (const { Prefix = '' } of CommonPrefixes)
        names.push(this.#requests.keyOf(Prefix).slice(prefix.length, -1));
    return names;
  }

  /** Removes an object; nothing if there is none. */
  async remove(key: string): Promise<void> {
    await this.#requests.send(key, (place) => this.#requests.ask(new DeleteObjectCommand(place)));
  }

  /**
   * Sends a file whose key names its bytes: one that is there is right, unless its size differs. What was put
   * long ago is written again, since retention spares what is new.
   * @throws the signal's reason when it aborts, between two parts
   */
  async upload(key: string, file: string, options: SendingOptions = {}): Promise<void> {
    await this.#transfers.runExclusive(() => sendFile(this.#requests, { key, file }, options));
  }

  /**
   * Fetches an object into a new file, continuing where a connection was cut.
   * @param limit in bytes: what follows is not fetched
   * @returns false if there is no such object; then there is no file
   */
  download(key: string, file: string, limit: number, onTransferred?: OnTransferred): Promise<boolean> {
    return this.#transfers.runExclusive(() => fetchFile(this.#requests, { key, file, limit }, onTransferred));
  }

  /** SHA-256 of an object's bytes, all of which are read; undefined if there is no such object. */
  hash(key: string, onTransferred?: OnTransferred): Promise<string | undefined> {
    return this.#transfers.runExclusive(() => hashObject(this.#requests, key, onTransferred));
  }

  async *#pages(prefix: string, delimiter?: string) {
    let token: string | undefined;
    do {
      const page = await this.#requests.send(prefix, ({ Bucket }) =>
        this.#requests.ask(
          new ListObjectsV2Command({
            Bucket,
            Prefix: this.#requests.path(prefix),
            ContinuationToken: token,
            Delimiter: delimiter,
          }),
        ),
      );
      yield page;
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }
}
