/** What workflows, and the signals and updates to them, accept. A type that is not here is refused. */
import { boolean, list, nullable, number, object, optional, text, unchecked, wholeNumber } from './shapes.ts';
import type { Shape } from './shapes.ts';
import type * as workflows from './index.ts';

const id = text(1000);
const epoch = wholeNumber(1e6);
/** More children or activities at a time than Temporal allows a workflow. */
const shards = wholeNumber(2000);

/** What the workflow itself uses of the settings. */
const settings = object({
  name: text(200),
  arm: text(200),
  epochs: epoch,
  evaluateEvery: wholeNumber(1e12),
  epochsPerRun: wholeNumber(1e12),
  shards: object({ generate: shards, rollOut: shards, evaluate: shards }),
  trains: object({ agent: boolean, environment: boolean }),
  writesPool: optional(boolean),
  checksColdStart: optional(boolean),
  gateEvery: optional(wholeNumber(1e12)),
  benchmarks: optional(object()),
  heartbeatSeconds: number(1e6),
  maxPhaseAttempts: wholeNumber(1e12),
  maxOutageSeconds: optional(number(1e12)),
  maxTokens: nullable(number(1e300)),
  band: list(number(1), 2),
  rolloutsPerEpoch: wholeNumber(1e12),
});

const run = object();

/* eslint-disable id-denylist -- fields on the wire */
const continueAsNewState = object({
  plan: object({ run, settings, searchAttributes: boolean }),
  known: nullable(epoch),
  recent: object({
    successRates: list(number(1), 1000),
    epochSeconds: list(number(1e12), 1000),
    heldOut: nullable(number(1)),
    notes: list(text(100_000), 1000),
  }),
  asked: object({ paused: boolean, stopAfterEpoch: boolean }),
  evaluated: optional(epoch),
});
/* eslint-enable id-denylist */

const outageReport = object({
  workflow: id,
  phase: text(1000),
  outage: object({ server: text(10_000), reason: text(10_000), tries: wholeNumber(1e12), since: text(100) }),
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
