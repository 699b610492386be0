import { InvalidArtifact, StoreUnavailable } from './errors.ts';

/** What to do about an answer of a bucket, by its code. */
const remedies: Record<string, string> = {
  AccessDenied: 'Give these credentials the right to list, read, write and remove objects there.',
  CredentialsProviderError:
    'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role, and start this process again.',
  InvalidAccessKeyId: 'The access key is unknown there: set the right one, and start this process again.',
  NoSuchBucket: 'Make the bucket, or set the right name in store.json.',
  SignatureDoesNotMatch: 'The secret key is wrong: set the right one, and start this process again.',
};
const REMEDY = 'Check its address, its network and its health; the run continues by itself when it answers.';

/** The HTTP status of a server's refusal; undefined if no server has answered. */
export const statusOf = (error: unknown): number | undefined =>
  (error as { $metadata?: { httpStatusCode?: number } } | undefined)?.$metadata?.httpStatusCode;

/**
 * Whether an answer to a GET says that an object does not exist: 404, with the code NoSuchKey in its body. Another
 * 404 says nothing of the object: it is that of a proxy in front of the bucket, or of a bucket that does not exist.
 */
export const isMissing = (error: unknown): boolean =>
  statusOf(error) === 404 && (error as Error).name === 'NoSuchKey';

/** Whether a refusal has the request id that Amazon S3 gives, as most servers do that speak as it does. */
export const hasRequestId = (error: unknown): boolean =>
  (error as { $response?: { headers?: Record<string, string> } }).$response?.headers?.['x-amz-request-id'] !==
  undefined;

/** The store's error for what the client has thrown: no run ends because a bucket is away. */
export function bucketError(address: string, error: unknown): Error {
  if (error instanceof StoreUnavailable || error instanceof InvalidArtifact) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  const status = statusOf(error);
  const { code: systemCode = cause.name } = cause as NodeJS.ErrnoException;
  const code = [systemCode, ...(status === undefined ? [] : [`HTTP ${status}`])].join(', ');
  return new StoreUnavailable(
    address,
    remedies[cause.name] ?? REMEDY,
    Object.assign(new Error(cause.message, { cause }), { code }),
  );
}
