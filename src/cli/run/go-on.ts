import type { Client } from '@temporalio/client';
import { changedFields } from '../../config/retune.ts';
import { finishRewind } from '../../runs/rewind.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { experimentHash, lastRewindTime, readRunOverview, runsFolder } from '../../runs/run-state.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import type { ExperimentResult } from '../../workflows/experiment.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Interruption } from '../interruption.ts';
import { progressDisplay } from '../show/progress-display.ts';
import { pollProgress, showEnd } from './follow.ts';
import { inSession, resultIn } from './in-session.ts';
import type { ExperimentFile } from './read-experiment-file.ts';
import type { Session } from './session.ts';
import { alsoRunning, startExperiment } from './start-experiment.ts';
import type { ExperimentHandle } from './start-experiment.ts';
import type { ExternalTemporal } from './temporal-target.ts';

/** An experiment that is to be started, or gone on with. */
export interface AskedRun extends ExperimentFile {
  id: string;
  home: string;
  /** The command that goes on with it, and one that starts it afresh. */
  again: string;
  fresh: string;
  /** Done where its workflow runs already, such as resuming it. */
  whenRunning?: (running: { client: Client; handle: ExperimentHandle }) => Promise<void>;
}

/**
 * Starts an experiment, or goes on with it, and follows it to its end. Everything is checked before anything
 * is started or written.
 */
export async function goOn(
  asked: AskedRun,
  external: ExternalTemporal | null,
  context: CliContext,
): Promise<ExitCode> {
  if (await finishRewind(new RunFolder(runsFolder(asked.home), asked.id), asked.home))
    context.print(`A rewind of ${asked.id} had been interrupted; it is done now.`);
  // Files on this machine say nothing of a run whose workers are elsewhere.
  if (external === null && (await isFinished(asked, context))) return exitCodes.ok;

  return inSession(external, context, {
    again: asked.again,
    follow: (session, interruption) => followed(session, asked, context, interruption),
    end: async (result) => {
      await summarize(asked, result, context);
      return result.outcome === 'stopped' ? exitCodes.stopped : exitCodes.ok;
    },
  });
}

/** Says so if there is nothing left to do. @throws InvalidConfig where the id belongs to another file */
async function isFinished({ experiment, id, home, fresh }: AskedRun, context: CliContext): Promise<boolean> {
  const folder = new RunFolder(runsFolder(home), id);
  const before = await readRunOverview(folder);
  if (before === null) return false;
  if (before.sha256 !== experimentHash(experiment)) {
    const file = (await folder.readExperiment())?.experiment;
    throw new InvalidConfig(
      `experiment: the id ${JSON.stringify(id)} belongs to another experiment file (${changedFields(file, experiment)}); start this one under another id (${fresh}), or go on with ${folder.experimentFile}`,
    );
  }
  if (!before.finished) {
    if (before.epoch !== null)
      context.print(`${id} goes on after epoch ${before.epoch} of ${before.experiment.epochs}.`);
    return false;
  }
  const { writeReport } = await import('../../report/write-report.ts');
  context.print(
    `${id} is finished: ${before.epoch ?? 0} epochs. Report: ${await writeReport({ home, runId: id, worlds: context.env.GENENV_WORLDS })}`,
  );
  context.print(`To start a fresh one, give it another id: ${fresh}`);
  return true;
}

/** The result, or undefined where a stop was asked for. */
async function followed(
  session: Session,
  { raw, experiment, id, home, whenRunning }: AskedRun,
  context: CliContext,
  interruption: Interruption,
): Promise<ExperimentResult | undefined> {
  const { handle, attached } = await startExperiment(session.client, {
    id,
    raw,
    experiment,
    rewoundAt: await lastRewindTime(new RunFolder(runsFolder(home), id)),
  });
  context.print(
    `${attached ? 'Following' : 'Started'} ${id}${session.ui === null ? '' : `: ${session.ui}/namespaces/default/workflows/${id}`}`,
  );
  if (attached) await whenRunning?.({ client: session.client, handle });
  const others = session.ui === null ? [] : await alsoRunning(session.client, id);
  if (others.length > 0)
    context.print(
      `Interrupted earlier, these go on at the same time: ${others.join(', ')} (\`npx genenv cancel\` ends one)`,
    );
  const display = progressDisplay(context);
  const ended = new AbortController();
  const polling = pollProgress(session.client, handle, {
    ...display,
    stop: AbortSignal.any([ended.signal, interruption.stop]),
  });
  try {
    const result = await resultIn(session, id, handle, interruption);
    ended.abort();
    await polling;
    if (result !== undefined) await showEnd(session.client, handle, display.show);
    return result;
  } finally {
    ended.abort();
    await polling;
    display.end();
  }
}

async function summarize(
  { id, home, again, fresh }: AskedRun,
  result: ExperimentResult,
  context: CliContext,
): Promise<void> {
  context.print(
    `${id}: ${result.outcome} after ${result.epochs} epochs; ledger ${result.ledger.slice(0, 12)}`,
  );
  if ((await readRunOverview(new RunFolder(runsFolder(home), id))) === null) {
    context.print('Its files are with its workers, not in this home folder.');
    return;
  }
  const [{ summaryTable }, { writeResults }] = await Promise.all([
    import('../show/summary.ts'),
    import('./write-results.ts'),
  ]);
  context.print(await summaryTable(home, id));
  context.print(`Report: ${await writeResults(home, id, context)}`);
  context.print(result.outcome === 'stopped' ? `To go on: ${again}` : `A fresh one: ${fresh}`);
}
