import { join } from 'node:path';
import { WorkflowFailedError } from '@temporalio/client';
import { changedFields } from '../../contracts/changed-fields.ts';
import { InvalidConfig } from '../../contracts/invalid-config.ts';
import { RunFolder } from '../../store/run-folder.ts';
import type { ExperimentResult } from '../../workflows/experiment.ts';
import type { RunOptions } from '../commands/run.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { CliError, exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { Interruption } from '../interruption.ts';
import { progressDisplay } from '../show/progress-display.ts';
import { dryRun } from './dry-run.ts';
import { awaitResult, pollProgress, showEnd } from './follow.ts';
import { explainFailure } from './outcome.ts';
import { readExperimentFile } from './read-experiment-file.ts';
import type { ExperimentFile } from './read-experiment-file.ts';
import { experimentHash, readRun, runsFolder } from './run-folders.ts';
import { openSession } from './session.ts';
import type { Session } from './session.ts';
import { alsoRunning, startExperiment } from './start-experiment.ts';
import { externalTemporal } from './temporal-target.ts';

interface Asked extends ExperimentFile {
  file: string;
  id: string;
  home: string;
}

/** `genenv run`: everything is checked before anything is started or written. */
export async function runExperiment(file: string, options: RunOptions, context: CliContext): Promise<ExitCode> {
  const { raw, experiment } = await readExperimentFile(file);
  const asked: Asked = { file, raw, experiment, id: options.id ?? experiment.name, home: homeFolder(context.env) };
  const external = externalTemporal(options, context.env);
  const folder = new RunFolder(runsFolder(asked.home), asked.id);
  if (options.dryRun === true) {
    context.print(dryRun(experiment));
    return exitCodes.ok;
  }
  // Files on this machine say nothing of a run whose workers are elsewhere.
  if (external === null && (await isFinished(asked, folder, context))) return exitCodes.ok;

  const interruption = new Interruption((signal) => context.print(`\n${signal}: stopping; what is under way is saved. Once more stops at once.`));
  const session = await openSession(external, context, interruption);
  try {
    const result = session && (await followed(session, asked, context, interruption));
    if (session === undefined || result === undefined) {
      context.print(`Stopping. The same command goes on: npx genenv run ${goOn(asked)}`);
      return exitCodes.interrupted;
    }
    await session.close(interruption.hurry);
    await summarize(asked, result, context);
    return exitCodes.ok;
  } finally {
    await session?.close(interruption.hurry);
    interruption.dispose();
  }
}

/** Says so if there is nothing left to do. @throws InvalidConfig where the id belongs to another file */
async function isFinished({ file, experiment, id }: Asked, folder: RunFolder, context: CliContext): Promise<boolean> {
  const before = await readRun(folder);
  if (before === null) return false;
  if (before.sha256 !== experimentHash(experiment)) {
    throw new InvalidConfig(`experiment: the id ${JSON.stringify(id)} belongs to another experiment file (${changedFields(before.experiment, experiment)}); start this one under another id (npx genenv run ${file} --id ${id}-2), or go on with ${folder.experimentFile}`);
  }
  if (!before.finished) {
    if (before.epoch !== null) context.print(`${id} goes on after epoch ${before.epoch} of ${experiment.epochs}.`);
    return false;
  }
  const { writeReport } = await import('../../report/write-report.ts');
  context.print(`${id} is finished: ${before.epoch ?? 0} epochs. Report: ${await writeReport({ home: join(folder.path, '../..'), runId: id })}`);
  context.print(`To start a fresh one, give it another id: npx genenv run ${file} --id ${id}-2`);
  return true;
}

/** The result, or undefined where a stop was asked for. */
async function followed(session: Session, { raw, experiment, id }: Asked, context: CliContext, interruption: Interruption): Promise<ExperimentResult | undefined> {
  const { handle, attached } = await startExperiment(session.client, id, raw, experiment);
  context.print(`${attached ? 'Following' : 'Started'} ${id}${session.ui === null ? '' : `: ${session.ui}/namespaces/default/workflows/${id}`}`);
  const others = session.ui === null ? [] : await alsoRunning(session.client, id);
  if (others.length > 0) context.print(`Interrupted earlier, these go on at the same time: ${others.join(', ')} (\`temporal workflow terminate\` ends one)`);
  const display = progressDisplay(context);
  const ended = new AbortController();
  const polling = pollProgress(session.client, handle, { ...display, stop: AbortSignal.any([ended.signal, interruption.stop]) });
  const lost = session.lost.then((reason): never => {
    throw new CliError(reason.message);
  });
  lost.catch(() => undefined);
  try {
    const result = await interruption.unlessStopped(Promise.race([awaitResult(session.client, handle, interruption.stop), lost]));
    ended.abort();
    await polling;
    if (result !== undefined) await showEnd(session.client, handle, display.show);
    return result;
  } catch (error) {
    throw error instanceof WorkflowFailedError ? explainFailure(error, id) : error;
  } finally {
    ended.abort();
    await polling;
    display.end();
  }
}

async function summarize({ id, home, file }: Asked, result: ExperimentResult, context: CliContext): Promise<void> {
  context.print(`${id}: ${result.outcome} after ${result.epochs} epochs; ledger ${result.ledger.slice(0, 12)}`);
  if ((await readRun(new RunFolder(runsFolder(home), id))) === null) {
    context.print('Its files are with its workers, not in this home folder.');
    return;
  }
  const [{ summaryTable }, { writeResults }] = await Promise.all([import('../show/summary.ts'), import('./write-results.ts')]);
  context.print(await summaryTable(home, id));
  context.print(`Report: ${await writeResults(home, id, context)}`);
  context.print(`A fresh one: npx genenv run ${file} --id ${id}-2`);
}

const goOn = ({ file, id, experiment }: Asked): string => (id === experiment.name ? file : `${file} --id ${id}`);
