/** What workflows, and the signals and updates to them, accept. A type that is not here is refused. */
import {
  boolean,
  list,
  nullable,
  number,
  object,
  optional,
  positiveNumber,
  text,
  unchecked,
  wholeNumber,
} from './shapes.ts';
import type { Shape } from './shapes.ts';
import type * as workflows from './index.ts';

const id = text(1000);
const epoch = wholeNumber(0, 1_000_000);
const every = wholeNumber(0, 1_000_000);
const shards = wholeNumber(0, 128);
const share = number(0, 1);

/**
 * What the workflow itself uses of the settings, with the limits of an experiment file, as activities check them
 * (workflowSettingsSchema).
 */
export const settings = object({
  name: text(200),
  arm: text(200),
  epochs: epoch,
  evaluateEvery: every,
  epochsPerRun: every,
  shards: object({ generate: shards, rollOut: shards, evaluate: shards }),
  trains: object({ agent: boolean, environment: boolean }),
  sharesWeights: optional(boolean),
  concurrentUpdates: optional(boolean),
  writesPool: optional(boolean),
  checksColdStart: optional(boolean),
  gateEvery: optional(every),
  dynamicSampling: optional(
    object({ informativeGroups: wholeNumber(1, 1_000_000), maxRounds: wholeNumber(2, 64) }),
  ),
  benchmarks: optional(object()),
  heartbeatSeconds: number(1, 31_536_000),
  maxPhaseAttempts: wholeNumber(1, 1_000_000),
  maxOutageSeconds: optional(positiveNumber(31_536_000)),
  maxTokens: nullable(wholeNumber(1, 1e15)),
  band: list(share, 2),
  rolloutsPerEpoch: wholeNumber(0, 1_000_000_000),
});

const run = object();

/* eslint-disable id-denylist -- fields on the wire */
const continueAsNewState = object({
  plan: object({ run, settings, searchAttributes: boolean }),
  known: nullable(epoch),
  recent: object({
    successRates: list(share, 1000),
    // Below 0 if the server's clock was set back.
    epochSeconds: list(number(-1e12, 1e12), 1000),
    heldOut: nullable(share),
    notes: list(text(100_000), 1000),
  }),
  asked: object({ paused: boolean, stopAfterEpoch: boolean }),
  evaluated: optional(epoch),
});
/* eslint-enable id-denylist */

const outageReport = object({
  workflow: id,
  phase: text(1000),
  outage: object({
    server: text(10_000),
    reason: text(10_000),
    tries: wholeNumber(0, 1e12),
    since: text(100),
  }),
});

/** Arguments by workflow type. Files are checked by the activity that parses them. */
export const workflowShapes: Record<keyof typeof workflows, readonly Shape[]> = {
  experiment: [unchecked, optional(continueAsNewState)],
  epoch: [object({ run, settings, epoch, state: object(), paused: boolean })],
  evaluation: [unchecked],
  rescoring: [object({ evaluation: id })],
  comparison: [unchecked],
  nightly: [unchecked],
};

/** Arguments by the names of messages.ts. */
export const messageShapes: Readonly<Record<string, readonly Shape[]>> = {
  pause: [],
  resume: [],
  stopAfterEpoch: [],
  // Its own validator says what is expected.
  retune: [unchecked],
  paused: [boolean],
  modelOutage: [id, nullable(outageReport)],
};
