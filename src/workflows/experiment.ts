/**
 * The workflow of an experiment: which step follows which. What a step does, and the state between steps, is
 * in ExperimentRun; an epoch is a child workflow (epoch.ts); updates and signals arrive in RunControls.
 * None of these calls back into the loop.
 */
import { patched } from '@temporalio/workflow';
import type { ContinueAsNewState } from './continue-as-new.ts';
import type { ExperimentResult } from './experiment-outcome.ts';
import { ExperimentRun } from './experiment-run.ts';

export type { ContinueAsNewState } from './continue-as-new.ts';
export type { ExperimentResult } from './experiment-outcome.ts';

/**
 * A co-evolution experiment, epoch by epoch, until it is finished, stopped or out of tokens. `file` is the
 * content of an experiment file, as the Temporal CLI passes it; the experiment's id is the workflow id. Where
 * the run stands is in its files, so starting the same id again resumes from its ledger.
 */
export async function experimentWorkflow(
  file: unknown,
  previous?: ContinueAsNewState,
): Promise<ExperimentResult> {
  const run = new ExperimentRun(previous);
  run.registerHandlers();
  try {
    const plan = await run.loadPlan(file);
    for (;;) {
      await run.waitWhilePaused();
      const opened = await run.openNextEpoch(plan);
      try {
        const start = await run.prepareIfFresh(opened);
        // The settings of epoch 1 are read after the preparation, so that retunes that came during it count.
        if (opened.last === null && patched('opens-epoch-1')) continue;
        await run.evaluateOnBenchmarksIfDue(start);
        const outcome = run.outcomeAt(start);
        if (outcome !== undefined) return await run.finish(outcome, start.last);
        if (run.shouldContinueAsNew(start)) return await run.continueAsNew(start);
        await run.runEpoch(start);
      } catch (error) {
        if (!run.canRetryAfter(error)) throw error;
        await run.waitBeforeRetry(error);
      }
    }
  } catch (error) {
    await run.recordFailure(error);
    throw error;
  }
}
