import {
  allHandlersFinished,
  CancellationScope,
  condition,
  ContinueAsNew,
  isCancellation,
  makeContinueAsNewFunc,
  patched,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { FieldValues } from '../config/retune.ts';
import type { CommittedEpoch, OpenedEpoch, Retuned, RunOutcome, RunPlan } from '../types/activity-types.ts';
import { parseExperiment, phaseActivities } from './activity-proxies.ts';
import { failureType, isRetryableEpochFailure, rootMessage, runChildEpoch } from './child-epoch.ts';
import { runPreparation } from './epoch-pipeline.ts';
import { evaluateOnBenchmarks } from './evaluation.ts';
import { progressQuery } from './messages.ts';
import type { ControlState } from './messages.ts';
import { experimentDetails, ProgressTracker, searchAttributes, Stopwatch } from './progress.ts';
import type { ProgressHistory } from './progress.ts';
import { RunControls } from './run-controls.ts';

/**
 * What one run of the workflow hands to the next when it continues as new. Where the run stands is in its
 * files.
 */
export interface ContinueAsNewState {
  plan: RunPlan;
  known: number | null;
  recent: ProgressHistory;
  asked: ControlState;
  /** The epoch whose agent was evaluated on benchmarks last. */
  evaluated?: number;
}

export interface ExperimentResult {
  outcome: Extract<RunOutcome, 'finished' | 'stopped' | 'token cap reached'>;
  epochs: number;
  /** Hash of the ledger's last line: equal experiments end with equal hashes. */
  ledger: string;
  successRate: number | null;
  heldOut: number | null;
}

/** Attempts at epochs, none of them committed, before the experiment fails. */
const maxFailures = 5;

/**
 * An experiment of co-evolution, epoch by epoch. `file` is the content of an experiment file, as the Temporal
 * CLI passes it; the experiment's id is the workflow id, and starting the same id again goes on from its
 * ledger.
 */
export async function experiment(file: unknown, carried?: ContinueAsNewState): Promise<ExperimentResult> {
  const watch = new Stopwatch();
  // Whether the settings of the next epoch are still to be decided.
  let open = true;
  let plan = carried?.plan;
  let known = carried?.known ?? null;
  let evaluated = carried?.evaluated;
  const retune = async (set: FieldValues): Promise<Retuned> => {
    await condition(() => plan !== undefined);
    return phaseActivities(plan!.settings).retuneExperiment({
      id: plan!.run.id,
      set,
      fromEpoch: (known ?? -1) + (open ? 1 : 2),
    });
  };
  const asked = carried?.asked ?? { paused: false, stopAfterEpoch: false };
  const track = new ProgressTracker(watch, asked, carried?.recent);
  setHandler(progressQuery, () => track.progress());
  const tell = (): void => {
    setCurrentDetails(experimentDetails(track.progress()));
    if (plan?.searchAttributes) upsertSearchAttributes(searchAttributes(track.progress()));
  };
  // Last: an update that came with the start is handled in here.
  const controls = new RunControls(asked, { retune, tellPeople: tell });

  try {
    plan ??= await parseExperiment({ id: workflowInfo().workflowId, file: file ?? null });
    track.begin(plan.settings);
    const { openEpoch } = phaseActivities(plan.settings);
    let thorough = carried === undefined;
    for (let done = 0, failures = 0; ;) {
      open = true;
      await controls.boundary();
      open = false;
      const opened = await openEpoch({ id: plan.run.id, known, thorough });
      thorough = false;
      track.begin(opened.settings);
      try {
        const last =
          opened.last ??
          (await runPreparation(
            phaseActivities(opened.settings),
            opened,
            watch.runner(),
            patched('warm-up-together'),
          ));
        known = last.epoch;
        track.committed(last);
        if (last.epoch !== evaluated) {
          const problem = await evaluateOnBenchmarks(opened.settings, last);
          if (problem !== undefined) track.note(problem);
          evaluated = last.epoch;
        }
        const end = endOf(opened, last, controls);
        if (end !== undefined) return await ended(end, last);
        const { continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
        // Where it was pinned to a deployment version and another is current; servers before 1.31 never say
        // so.
        const outdated = targetWorkerDeploymentVersionChanged && done > 0;
        if (done >= opened.settings.epochsPerRun || continueAsNewSuggested || outdated) {
          await condition(allHandlersFinished);
          const continueAsNew = makeContinueAsNewFunc<typeof experiment>(
            outdated ? { initialVersioningBehavior: 'AUTO_UPGRADE' } : {},
          );
          await continueAsNew(null, {
            plan,
            known,
            recent: track.recent,
            asked,
            ...(opened.settings.benchmarks && { evaluated }),
          });
        }
        track.epochBegins(last.epoch + 1);
        const committed = await runChildEpoch(
          {
            run: opened.run,
            settings: opened.settings,
            epoch: last.epoch + 1,
            state: last.state,
            paused: asked.paused,
          },
          controls,
        );
        known = committed.epoch;
        track.committed(committed);
        tell();
        done += 1;
        failures = 0;
      } catch (error) {
        if (!isRetryableEpochFailure(error) || ++failures === maxFailures) throw error;
        track.note(
          `epoch ${(known ?? -1) + 1}: ${failureType(error) ?? 'ended from outside'}; looked at anew and run again`,
        );
        thorough = true;
        await sleep('1s');
      }
    }
  } catch (error) {
    if (plan === undefined || error instanceof ContinueAsNew) throw error;
    const outcome = isCancellation(error) ? 'cancelled' : 'failed';
    await CancellationScope.nonCancellable(() => atEnd(outcome, rootMessage(error)));
    throw error;
  }

  async function ended(
    outcome: ExperimentResult['outcome'],
    { epoch, line, metrics }: CommittedEpoch,
  ): Promise<ExperimentResult> {
    await atEnd(outcome);
    return {
      outcome,
      epochs: epoch,
      ledger: line,
      successRate: metrics['env/success_rate'] ?? null,
      heldOut: track.progress().heldOut,
    };
  }

  async function atEnd(outcome: RunOutcome, reason?: string): Promise<void> {
    controls.end();
    track.ended(outcome);
    tell();
    await phaseActivities(plan!.settings).recordEnd({
      id: plan!.run.id,
      outcome,
      epoch: known ?? 0,
      ...(reason === undefined ? {} : { reason }),
    });
    await condition(allHandlersFinished);
  }
}

function endOf(
  { settings }: OpenedEpoch,
  { epoch, state }: CommittedEpoch,
  { asked }: RunControls,
): ExperimentResult['outcome'] | undefined {
  if (epoch >= settings.epochs) return 'finished';
  if (settings.maxTokens !== null && state.tokens >= settings.maxTokens) return 'token cap reached';
  return asked.stopAfterEpoch ? 'stopped' : undefined;
}
