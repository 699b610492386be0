import { continueAsNew, setCurrentDetails, setHandler, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { Committed, Plan } from '../contracts/phases.ts';
import { details } from './details.ts';
import { prepare } from './prepare.ts';
import { progressQuery } from './messages.ts';
import { parseExperiment } from './phases.ts';
import { runEpoch } from './run-epoch.ts';
import { searchAttributes } from './search-attributes.ts';
import { Stopwatch } from './stopwatch.ts';
import { Track } from './track.ts';
import type { Recent } from './track.ts';

/** What one run of the workflow hands to the next when it continues as new. */
export interface Carried {
  plan: Plan;
  committed: Committed;
  recent: Recent;
}

export interface ExperimentResult {
  outcome: 'finished' | 'token cap reached';
  epochs: number;
  /** Hash of the ledger's last line: equal experiments end with equal hashes. */
  ledger: string;
  successRate: number | null;
  heldOut: number | null;
}

/**
 * An experiment of co-evolution, epoch by epoch. `file` is the content of an experiment file, as the Temporal CLI passes it;
 * the experiment's id is the workflow id, and starting the same id again goes on from its ledger.
 */
export async function experiment(file: unknown, carried?: Carried): Promise<ExperimentResult> {
  const watch = new Stopwatch();
  const track = new Track(watch, carried?.recent);
  setHandler(progressQuery, () => track.progress());
  const plan = carried?.plan ?? (await parseExperiment({ id: workflowInfo().workflowId, file: file ?? null }));
  track.begin(plan);
  let committed = carried?.committed ?? plan.resume ?? (await prepare(plan, watch));
  track.committed(committed);

  for (let done = 0; committed.epoch < plan.settings.epochs; done++) {
    if (capReached(plan, committed)) return ended('token cap reached', committed, track);
    if (done >= plan.settings.epochsPerRun || workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof experiment>(null, { plan: { ...plan, resume: null }, committed, recent: track.recent });
    }
    track.epochBegins(committed.epoch + 1);
    committed = await runEpoch({ run: plan.run, settings: plan.settings, epoch: committed.epoch + 1, state: committed.state });
    track.committed(committed);
    setCurrentDetails(details(track.progress()));
    if (plan.searchAttributes) upsertSearchAttributes(searchAttributes(track.progress()));
  }
  return ended('finished', committed, track);
}

const capReached = ({ settings }: Plan, { state }: Committed): boolean => settings.maxTokens !== null && state.tokens >= settings.maxTokens;

function ended(outcome: ExperimentResult['outcome'], { epoch, line, metrics }: Committed, track: Track): ExperimentResult {
  track.finished();
  return { outcome, epochs: epoch, ledger: line, successRate: metrics['env/success_rate'] ?? null, heldOut: track.progress().heldOut };
}
