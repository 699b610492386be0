import { describe, expect, it } from 'vitest';
import { withFields } from '../../test-support/experiments.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { RayHead, rayMissing } from '../../test-support/ray-head.ts';
import { runEnds } from '../../test-support/run-ends.ts';
import { RealSlurm, slurmCommand, slurmMissing } from '../../test-support/slurm.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

/** Whole epochs, whose training jobs a real scheduler runs. */

const MINUTES = 60_000;
const EPOCHS = 2;
/** Both roles warm up, and are trained in each epoch. */
const JOBS = 2 + 2 * EPOCHS;

const KEY_CHARS = 'genenv-'.length + 12;
const distinct = (names: readonly string[]): string[] =>
  [...new Set(names)].filter((name) => name.startsWith('genenv-'));

/** What each epoch of a run made: checkpoints, and the records and metrics that follow from them. */
async function outcomeOf(launcher: object, environment: NodeJS.ProcessEnv = {}): Promise<unknown> {
  await using stack = await LiveStack.start(environment);
  await stack.policyReady();
  await stack.startWorker();
  const file = withFields(tinyExperiment(), {
    epochs: EPOCHS,
    'trainer.launcher': launcher,
    // Only lines of progress show that a job lives, and it prints none while it imports torch.
    'durability.heartbeatSeconds': 60,
  });
  await stack.startRun('scheduled', file);
  await runEnds(stack.client, 'scheduled', 15 * MINUTES);
  return stack.entries('scheduled').map(({ epoch, outputs, metrics }) => ({ epoch, outputs, metrics }));
}

describe('training jobs of a scheduler give the same results as local ones', () => {
  let expected: unknown;
  const outcomeHere = async (): Promise<unknown> => (expected ??= await outcomeOf({ type: 'process' }));

  it.skipIf(rayMissing !== undefined)('on Ray', { timeout: 40 * MINUTES }, async () => {
    await using head = await RayHead.start();
    const outcome = await outcomeOf({ type: 'ray', baseUrl: head.baseUrl });
    expect(outcome).toEqual(await outcomeHere());
    const jobs = (await (await fetch(`${head.baseUrl}/api/jobs/`)).json()) as { submission_id: string }[];
    // An id has the job's key, and the claim, which is another one if the job was slow to start.
    expect(distinct(jobs.map(({ submission_id: id }) => id.slice(0, KEY_CHARS)))).toHaveLength(JOBS);
  });

  it.skipIf(slurmMissing !== '')('on Slurm', { timeout: 40 * MINUTES }, async () => {
    await using cluster = await RealSlurm.start(await temporaryFolder());
    const outcome = await outcomeOf({ type: 'slurm' }, cluster.env);
    expect(outcome).toEqual(await outcomeHere());
    const names = await slurmCommand(cluster, 'squeue', '--noheader', '--states=all', '--format=%j');
    expect(distinct(names.split('\n'))).toHaveLength(JOBS);
  });
});
