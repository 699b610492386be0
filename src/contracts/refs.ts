import { z } from 'zod';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lowercase hexadecimal digits (a sha256)');
const Count = z.number().int().nonnegative();

const shape = {
  uri: z.string().describe('Where the object is, relative to the store'),
  sha256: Sha256.describe('Hash of the bytes; for a folder, of its manifest'),
  bytes: Count.describe('Size; for a folder, of all of its files'),
  count: Count.describe('Number of records; for a folder, of files'),
};

const uriAgrees = (suffix: string) => (ref: { uri: string; sha256: string }) =>
  new RegExp(`^objects/${ref.sha256.slice(0, 2)}/${ref.sha256}${suffix}$`).test(ref.uri);

/** Names a file in the store: `objects/<aa>/<sha256>.jsonl`, `.json` or `.txt`. */
export const FileRef = z
  .strictObject(shape)
  .refine(uriAgrees('\\.(jsonl|json|txt)'), {
    path: ['uri'],
    error: 'expected objects/<aa>/<sha256>.jsonl, .json or .txt, with the sha256 of this reference',
  });
export type FileRef = z.infer<typeof FileRef>;

/** Names a folder in the store, a Hugging Face folder as it is: `objects/<aa>/<sha256>/`. */
export const FolderRef = z
  .strictObject(shape)
  .refine(uriAgrees('/'), {
    path: ['uri'],
    error: 'expected objects/<aa>/<sha256>/, with the sha256 of this reference',
  });
export type FolderRef = z.infer<typeof FolderRef>;

/** Either of the two: they have one shape, and `isFolderRef` tells them apart. */
export type Ref = FileRef;

/** True for what names a folder: its uri ends with a slash. */
export const isFolderRef = (ref: Ref): boolean => ref.uri.endsWith('/');
