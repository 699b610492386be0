import type { Payload } from '@temporalio/common';
import { z } from 'zod';

const base64 = z.base64();

/** A payload as Temporal's JSON has it: in histories, and in requests to a codec server. */
export const jsonPayloadSchema = z.object({
  metadata: z.record(z.string().max(256), base64).optional(),
  data: base64.optional(),
});
export type JsonPayload = z.infer<typeof jsonPayloadSchema>;

export const fromJsonPayload = ({ metadata = {}, data = '' }: JsonPayload): Payload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
  ),
  data: Buffer.from(data, 'base64'),
});

export const toJsonPayload = ({ metadata, data }: Payload): JsonPayload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data ?? []).toString('base64'),
});
