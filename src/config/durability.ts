import { z } from 'zod';
import {
  heartbeatTimeout,
  positiveCount,
  requestTimeLimit,
  timeLimit,
} from '../validation/limited-fields.ts';

export const durabilitySchema = z
  .strictObject({
    shards: z
      .int()
      .min(1)
      .max(128)
      .default(8)
      .describe('Activities that a phase of requests is cut into; history does not grow with rollouts.'),
    promptsPerRequest: z
      .int()
      .min(1)
      .max(1024)
      .default(32)
      .describe('Prompts in one request: the unit of batching, storage and retry.'),
    requestTimeoutSeconds: requestTimeLimit.default(50).describe('Longest that one request may take.'),
    heartbeatSeconds: heartbeatTimeout
      .default(60)
      .describe(
        'Heartbeat timeout of activities that talk to models or trainers: how soon a worker that died is noticed.',
      ),
    epochsPerRun: positiveCount
      .default(20)
      .describe('Epochs of one workflow execution, before it continues as new.'),
    maxPhaseAttempts: positiveCount
      .default(100)
      .describe('Attempts at a phase before the epoch fails. An outage of a model server costs none.'),
    maxOutageSeconds: timeLimit
      .optional()
      .describe(
        'How long a model server or the store may be away before the epoch fails. Left out = it is waited for ' +
          'without end.',
      ),
  })
  .describe('Units of loss and retry.');
