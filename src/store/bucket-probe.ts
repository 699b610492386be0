import { randomUUID } from 'node:crypto';
import { InvalidConfig } from '../validation/invalid-config.ts';
import type { Bucket } from './bucket.ts';

const WRITERS = 32;

/**
 * Requires that a bucket does what the store builds on: of 32 writers that create one object at the same time
 * exactly one succeeds, and its bytes are read back. Servers that speak S3 differ in this.
 * @throws InvalidConfig naming the bucket and what it did, StoreUnavailable if it does not answer
 */
export async function requireOneWinner(bucket: Bucket): Promise<void> {
  const key = `probe/${randomUUID()}`;
  const texts = Array.from({ length: WRITERS }, (_, writer) => `${writer} ${randomUUID()}`);
  const wins = await Promise.all(texts.map((text) => bucket.create(key, Buffer.from(text))));
  const stored = (await bucket.read(key))?.toString('utf8');
  await bucket.remove(key);
  const winners = texts.filter((_, writer) => wins[writer]);
  const refuse = (problem: string): InvalidConfig =>
    new InvalidConfig(
      `${bucket.address()}: ${problem}. Two hosts could then commit one epoch: use a server whose conditional ` +
        'writes (If-None-Match: *) hold',
    );
  if (winners.length !== 1)
    throw refuse(
      `of ${WRITERS} writers that created one object at once ${winners.length} were told that they did`,
    );
  if (stored !== winners[0])
    throw refuse('the object has other bytes than the writer that created it has sent');
}
