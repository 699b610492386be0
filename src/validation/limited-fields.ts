/** Kinds of fields that files have many of, each with the limit that keeps a mistyped value from running for years. */
import { z } from 'zod';

/** The largest count, of epochs, steps or attempts, that a file may ask for. */
export const maxCount = 1_000_000;
const maxNumber = 1_000_000;
const yearInSeconds = 31_536_000;

export const positiveCount = z.int().positive().max(maxCount);
export const nonNegativeCount = z.int().min(0).max(maxCount);
export const positiveNumber = z.number().positive().max(maxNumber);
export const nonNegativeNumber = z.number().min(0).max(maxNumber);
/** A share, a rate or a probability. */
export const unitInterval = z.number().min(0).max(1);

/** In seconds. */
export const timeLimit = z.number().positive().max(yearInSeconds);
/** In seconds, of one request: timers of Node end at once if they are to wait for more than 2,147,483 s. */
export const requestTimeLimit = z.number().positive().max(2_000_000);
/** In seconds, and at least one: activities heartbeat no more often. */
export const heartbeatTimeout = z.number().min(1).max(yearInSeconds);

export const nameField = z.string().min(1).max(1_000);
/** Names that something else checks, such as keys of an object. */
export const uncheckedName = z.string().max(1_000);
export const pathField = z.string().min(1).max(4_096);
export const schemaField = z.string().max(4_096).optional().describe('For editors.');

/** Hash of a file that another field names. */
export const sha256Field = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'expected 64 lowercase hexadecimal digits')
  .nullable()
  .default(null)
  .describe('Hash that the file must have; null = not checked.');
