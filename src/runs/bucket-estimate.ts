/** What a run puts into a bucket: objects and requests. They go with its phases, not with its rollouts. */
import type { Experiment } from '../config/experiment.ts';
import { servedName } from '../config/policy-servers.ts';
import { sum } from '../numerics/arithmetic.ts';
import type { ResourceEstimate } from './resource-estimate.ts';

export interface BucketEstimate {
  objects: number;
  writes: number;
  reads: number;
  lists: number;
  removals: number;
}

/** Files of weights with their manifest and canary: full weights with a tokenizer, or an adapter. */
const FILES_OF_WEIGHTS = { full: 7, adapter: 4 };
/** Moments, state and manifest. */
const FILES_OF_TRAINER_STATE = 3;
/** Files of records by phase: tasks or traces of a shard; the batch of a training; outcomes and pools. */
const FILES_OF_PHASE = { sampling: 1, training: 1, plain: 1.5 };
/** A line of the ledger, one of the metrics, an event, and what is written as a whole. */
const FILES_OF_AN_EPOCH = 5;
/** Of the preparation: base and held-out tasks, settings, the first policies' records. */
const FILES_OF_A_PREPARATION = 20;
/** The run's position and settings, what phases find of each other's results, policies that are published. */
const READS_OF_AN_EPOCH = 22;
const LISTS_OF_AN_EPOCH = 6;

/**
 * If nothing is tried again and no file is larger than a part (8 MiB; larger ones are a write for each part, and
 * two more). A step checkpoint that is sent while a job runs is as many writes as it has files, and a list.
 */
export function estimateBucket(experiment: Experiment, { phases }: ResourceEstimate): BucketEstimate {
  const { epochs } = experiment;
  const trained = (['environment', 'agent'] as const).filter(
    (role) => experiment[role].training !== null && servedName(experiment, role) === null,
  );
  const policyFiles = sum(
    trained.map((role) => {
      const { model } = experiment[role];
      const isAdapter = model.type === 'pretrained' && model.adapter !== null;
      return FILES_OF_WEIGHTS[isAdapter ? 'adapter' : 'full'] + FILES_OF_TRAINER_STATE;
    }),
  );
  const recorded = phases.sampling + phases.training + phases.plain;
  // What can be half done has a work folder, with a claim.
  const claimed = phases.sampling + phases.training;
  const records =
    phases.sampling * FILES_OF_PHASE.sampling +
    phases.training * FILES_OF_PHASE.training +
    phases.plain * FILES_OF_PHASE.plain;
  const objects = Math.round(
    recorded + records + epochs * (policyFiles + FILES_OF_AN_EPOCH) + FILES_OF_A_PREPARATION,
  );
  return {
    objects,
    writes: objects + claimed,
    reads: recorded + epochs * READS_OF_AN_EPOCH,
    // To claim and to remove its folder; a job that begins looks for a step checkpoint.
    lists: 2 * claimed + phases.training + epochs * LISTS_OF_AN_EPOCH,
    // Its claim; and the mark of a folder that may have been removed before.
    removals: claimed + 2 * epochs * trained.length,
  };
}
