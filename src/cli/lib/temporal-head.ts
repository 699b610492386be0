import type { RunFolder } from '../../runs/run-folder.ts';
import { CliError } from '../context.ts';
import type { CliContext } from '../context.ts';
import type { TemporalOptions } from './options.ts';
import { findWorkflow } from './updates.ts';

/**
 * What differs between a run's ledger and the result that Temporal has of its workflow; undefined if nothing
 * does, or if the ledger has grown since.
 * @throws CliError if Temporal has no result to compare with
 */
export async function temporalHeadProblem(
  folder: RunFolder,
  options: TemporalOptions,
  context: CliContext,
): Promise<string | undefined> {
  const workflow = await findWorkflow(folder.id, options, context);
  if (workflow === null)
    throw new CliError(`--temporal: no server is reached that knows ${folder.id}; name one with --address`);
  const { status } = await workflow.handle.describe();
  if (status.name !== 'COMPLETED')
    throw new CliError(
      `--temporal: the workflow of ${folder.id} is ${status.name.toLowerCase()}; only one that is completed has a result`,
    );
  const { ledger: head } = await workflow.handle.result();
  const opened = await folder.open();
  const { hashes = [] } = (await opened?.ledger.inspect())?.chain ?? {};
  return hashes.includes(head)
    ? undefined
    : `Temporal's result names the last line ${head.slice(0, 80)}, which the ledger does not have`;
}
