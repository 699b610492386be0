import { z } from 'zod';
import { InvalidArtifact } from './errors.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lowercase hexadecimal digits (a sha256)');
const Count = z.number().int().nonnegative();

const shape = {
  uri: z.string().describe('Where the object is, relative to the store'),
  sha256: Sha256.describe('Hash of the bytes; for a folder, of its manifest'),
  bytes: Count.describe('Size; for a folder, of all of its files'),
  count: Count.describe('Number of records; for a folder, of files'),
};

const hasUriOfHash = (suffix: string) => (ref: { uri: string; sha256: string }) =>
  new RegExp(`^objects/${ref.sha256.slice(0, 2)}/${ref.sha256}${suffix}$`).test(ref.uri);

/** Names a file in the store: `objects/<aa>/<sha256>.jsonl`, `.json` or `.txt`. */
export const FileRef = z.strictObject(shape).refine(hasUriOfHash('\\.(jsonl|json|txt)'), {
  path: ['uri'],
  error: 'expected objects/<aa>/<sha256>.jsonl, .json or .txt, with the sha256 of this reference',
});
export type FileRef = z.infer<typeof FileRef>;

/** Names a folder in the store, a Hugging Face folder as it is: `objects/<aa>/<sha256>/`. */
export const FolderRef = z.strictObject(shape).refine(hasUriOfHash('/'), {
  path: ['uri'],
  error: 'expected objects/<aa>/<sha256>/, with the sha256 of this reference',
});
export type FolderRef = z.infer<typeof FolderRef>;

/** Either of the two: they have one shape, and `isFolderRef` tells them apart. */
export type Ref = FileRef;

/** Whether a reference names a folder: its uri ends with a slash. */
export const isFolderRef = (ref: Ref): boolean => ref.uri.endsWith('/');

/** Path of an object with this hash in a store, without the suffix of its name. */
export const objectUri = (sha256: string): string => `objects/${sha256.slice(0, 2)}/${sha256}`;

export const fileRef = (
  sha256: string,
  suffix: '.jsonl' | '.json' | '.txt',
  bytes: number,
  count: number,
): FileRef => ({ uri: objectUri(sha256) + suffix, sha256, bytes, count });

export const folderRef = (sha256: string, bytes: number, count: number): FolderRef => ({
  uri: `${objectUri(sha256)}/`,
  sha256,
  bytes,
  count,
});

/**
 * Checks a reference: nothing else may name a path in the store.
 * @throws InvalidArtifact for an object with a reference's fields that is not one
 */
export function parseRef({ uri, sha256, bytes, count }: Record<keyof Ref, unknown>): Ref {
  const parsed = (typeof uri === 'string' && uri.endsWith('/') ? FolderRef : FileRef).safeParse({
    uri,
    sha256,
    bytes,
    count,
  });
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new InvalidArtifact(
    typeof uri === 'string' ? uri : JSON.stringify(uri),
    `not a reference to the store: ${issues.join('; ')}`,
    {},
    'Use references as the store gave them.',
  );
}

/**
 * Every reference to the store in a value, with the field names that lead to it, in order.
 * @throws InvalidArtifact for an object with a reference's fields that is not one
 */
export function* refsIn(value: unknown, path: string[] = []): Generator<{ ref: Ref; path: string[] }> {
  if (typeof value !== 'object' || value === null) return;
  if (['uri', 'sha256', 'bytes', 'count'].every((field) => field in value)) {
    yield { ref: parseRef(value as Ref), path };
    return;
  }
  for (const [key, field] of Object.entries(value)) yield* refsIn(field, [...path, key]);
}
