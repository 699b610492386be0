import type { Ref } from '../contracts/refs.ts';
import { parseRef } from './object-paths.ts';

/**
 * Every reference to the store in a value, with the field names that lead to it, in order.
 * @throws InvalidArtifact for an object with a reference's fields that is none
 */
export function* refsIn(value: unknown, path: string[] = []): Generator<{ ref: Ref; path: string[] }> {
  if (typeof value !== 'object' || value === null) return;
  if (['uri', 'sha256', 'bytes', 'count'].every((field) => field in value)) {
    yield { ref: parseRef(value as Ref), path };
    return;
  }
  for (const [key, field] of Object.entries(value)) yield* refsIn(field, [...path, key]);
}
