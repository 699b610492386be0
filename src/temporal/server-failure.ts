import { isGrpcServiceError, NamespaceNotFoundError, ServiceError } from '@temporalio/client';

/**
 * Whether a call of a client has failed because of the server: it is away, cannot answer now, or refuses. A
 * server whose database is away may say that it has no such namespace.
 */
export const isServerFailure = (error: unknown): boolean =>
  isGrpcServiceError(error) || error instanceof ServiceError || error instanceof NamespaceNotFoundError;
