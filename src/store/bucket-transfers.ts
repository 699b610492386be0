/** Files that are sent to a bucket, and objects that are read from it, in flat memory. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { CompletedPart } from '@aws-sdk/client-s3';
import { bucketError, isMissing, statusOf } from './bucket-errors.ts';
import { bodyOf, isCut, MAX_TRIES, pauseMs } from './bucket-requests.ts';
import type { BucketEntry, BucketRequests } from './bucket-requests.ts';
import { withDiskErrors } from './errors.ts';
import { openPlainFile } from './plain-files.ts';
import { openInPlace } from './real-place.ts';

/** Called while a large file is sent or fetched, with the bytes done so far. */
export type OnTransferred = (progress: { file: string; bytes: number }) => void;

/** Larger files are sent in parts of this size, one after the other. */
const PART_BYTES = 8 << 20;
/** An object that is put again and is older than this is written again: retention spares what is new. */
const RENEWAL_MS = 3_600_000;
/** How many times as long as other requests the last one of an upload in parts may take. */
const COMPLETION_FACTOR = 6;

export type SendingOptions = { onTransferred?: OnTransferred | undefined; signal?: AbortSignal };

/** @see Bucket.upload */
export async function sendFile(
  requests: BucketRequests,
  { key, file }: { key: string; file: string },
  { onTransferred, signal }: SendingOptions,
): Promise<void> {
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
    if (!isCurrent(await requests.measure(key), size)) await sendParts(requests, key, size, read);
    return;
  }
  const data = await read(0);
  for (let tries = 1; ; tries += 1) {
    const outcome = await requests.createOnce(key, data, tries);
    if (outcome === 'created') return;
    if (outcome === 'busy') continue;
    if (!isCurrent(await requests.measure(key), size)) await requests.put(key, data);
    return;
  }
}

const isCurrent = (entry: BucketEntry | undefined, bytes: number): boolean =>
  entry?.bytes === bytes && entry.modifiedMs > Date.now() - RENEWAL_MS;

async function sendParts(
  requests: BucketRequests,
  key: string,
  size: number,
  read: (from: number) => Promise<Buffer>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const outcome = await requests.send(key, async (place) => {
      const algorithm = { ChecksumAlgorithm: 'SHA256' } as const;
      const { UploadId } = await requests.ask(new CreateMultipartUploadCommand({ ...place, ...algorithm }));
      try {
        const parts: CompletedPart[] = [];
        for (let from = 0; from < size; from += PART_BYTES) {
          const PartNumber = parts.length + 1;
          const part = { ...place, UploadId, PartNumber, ...bodyOf(await read(from)) };
          const { ETag } = await requests.ask(new UploadPartCommand(part));
          parts.push({ PartNumber, ETag, ChecksumSHA256: part.ChecksumSHA256 });
        }
        const upload = { ...place, UploadId, MultipartUpload: { Parts: parts } };
        // The server puts the parts together first.
        await requests.ask(new CompleteMultipartUploadCommand(upload), COMPLETION_FACTOR);
        return 'created';
      } catch (error) {
        await requests.ask(new AbortMultipartUploadCommand({ ...place, UploadId })).catch(() => undefined);
        return requests.refusal(error, tries);
      }
    });
    if (outcome !== 'busy') return;
  }
}

/** @see Bucket.download */
export async function fetchFile(
  requests: BucketRequests,
  { key, file, limit }: { key: string; file: string; limit: number },
  onTransferred?: OnTransferred,
): Promise<boolean> {
  const body = await openObject(requests, key, 0);
  if (body === undefined) return false;
  await using handle = await openInPlace(file, 'wx');
  for await (const chunk of readObject(requests, { key, body, limit, file }, onTransferred))
    await withDiskErrors(file, () => handle.writeFile(chunk));
  await withDiskErrors(file, () => handle.sync());
  return true;
}

/** @see Bucket.hash */
export async function hashObject(
  requests: BucketRequests,
  key: string,
  onTransferred?: OnTransferred,
): Promise<string | undefined> {
  const body = await openObject(requests, key, 0);
  if (body === undefined) return undefined;
  const digest = createHash('sha256');
  const source = { key, body, limit: Infinity, file: requests.address(key) };
  for await (const chunk of readObject(requests, source, onTransferred)) digest.update(chunk);
  return digest.digest('hex');
}

/** The bytes of an object that was opened, up to the limit; it continues where a connection was cut. */
async function* readObject(
  requests: BucketRequests,
  source: { key: string; body: AsyncIterable<Buffer>; limit: number; file: string },
  onTransferred?: OnTransferred,
): AsyncGenerator<Buffer> {
  const { key, limit, file } = source;
  let { body } = source;
  let done = 0;
  for (let tries = 1; ; tries += 1) {
    const before = done;
    try {
      for await (const chunk of body) {
        const part = chunk.subarray(0, limit - done);
        const parts = Math.floor(done / PART_BYTES);
        done += part.length;
        yield part;
        if (Math.floor(done / PART_BYTES) > parts) onTransferred?.({ file, bytes: done });
        if (done >= limit) return;
      }
      return;
    } catch (error) {
      if (statusOf(error) === undefined && !isCut(error)) throw error;
      if (done === before && tries >= MAX_TRIES) throw bucketError(requests.address(key), error);
      await sleep(pauseMs(tries));
      body = (await openObject(requests, key, done)) ?? emptyBody();
    }
  }
}

/** Bytes of an object from a position on; undefined if there is none. */
async function openObject(
  requests: BucketRequests,
  key: string,
  from: number,
): Promise<AsyncIterable<Buffer> | undefined> {
  return requests.send(key, async (place) => {
    try {
      const range = from === 0 ? {} : { Range: `bytes=${from}-` };
      const { Body } = await requests.ask(new GetObjectCommand({ ...place, ...range }));
      return Body as unknown as AsyncIterable<Buffer>;
    } catch (error) {
      if (isMissing(error)) return undefined;
      // All of it is there.
      if (statusOf(error) === 416) return emptyBody();
      throw error;
    }
  });
}

async function* emptyBody(): AsyncGenerator<Buffer> {
  // Nothing is left to fetch.
}
