import { z } from 'zod';
import { FileRef, FolderRef } from '../contracts/refs.ts';
import type { Ref } from '../contracts/refs.ts';

const AnyRef = z.union([FileRef, FolderRef]);

/**
 * Every reference to the store in a value, with the field names that lead to it, in order.
 * @throws ZodError for an object with a reference's fields that is none
 */
export function* refsIn(value: unknown, path: string[] = []): Generator<{ ref: Ref; path: string[] }> {
  if (typeof value !== 'object' || value === null) return;
  if (['uri', 'sha256', 'bytes', 'count'].every((field) => field in value)) {
    const { uri, sha256, bytes, count } = value as Ref;
    yield { ref: AnyRef.parse({ uri, sha256, bytes, count }), path };
    return;
  }
  for (const [key, field] of Object.entries(value)) yield* refsIn(field, [...path, key]);
}
