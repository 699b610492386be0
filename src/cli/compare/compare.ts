import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseComparison } from '../../config/comparison.ts';
import type { Comparison } from '../../config/comparison.ts';
import { ComparisonFolder } from '../../runs/result-folders.ts';
import { hashOf } from '../../store/canonical-json.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { comparisonWorkflow } from '../../workflows/comparison.ts';
import type { CompareOptions } from '../commands/compare.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Interruption } from '../interruption.ts';
import { inSession, resultIn } from '../run/in-session.ts';
import { readJsonFile } from '../run/read-experiment-file.ts';
import type { Session } from '../run/session.ts';
import { runningWorkflow } from '../run/start-experiment.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import { compareDryRun } from './dry-run.ts';
import { followComparison } from './follow-comparison.ts';
import { writeResultsDocument } from './results-document.ts';

interface Asked {
  id: string;
  raw: unknown;
  comparison: Comparison;
}

/** `genenv compare`: everything is checked before anything is started or written. */
export async function compare(file: string, options: CompareOptions, context: CliContext): Promise<ExitCode> {
  const raw = await readJsonFile('comparison file', file, 'experiments/compare-laptop.json');
  const comparison = parseComparison(raw);
  const id = options.id ?? comparison.name;
  if (options.dryRun === true) {
    context.print(await compareDryRun(id, comparison, context));
    return exitCodes.ok;
  }
  const again = [
    'npx genenv compare',
    file,
    ...(options.id === undefined ? [] : [`--id ${id}`]),
    ...(options.docs === undefined ? [] : [`--docs ${options.docs}`]),
  ].join(' ');
  return inSession(externalTemporal(options, context.env), context, {
    again,
    follow: (session, interruption) => followed(session, { id, raw, comparison }, context, interruption),
    end: () => summarize(id, options, context),
  });
}

async function followed(
  session: Session,
  { id, raw, comparison }: Asked,
  context: CliContext,
  interruption: Interruption,
): Promise<unknown> {
  const { client } = session;
  const hash = hashOf(comparison);
  const running = await runningWorkflow(client, id);
  const runningHash = running?.memo?.comparisonHash;
  if (runningHash !== undefined && runningHash !== hash)
    throw new InvalidConfig(
      `comparison: the id ${JSON.stringify(id)} is running with another comparison file; wait until it has ended, or give --id another`,
    );
  const handle = await client.workflow.start<typeof comparisonWorkflow>('comparison', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { comparisonHash: hash },
    staticSummary:
      `${comparison.name}: ${Object.keys(comparison.arms).join(', ')}; ${comparison.seeds.length} seeds`.slice(
        0,
        200,
      ),
  });
  context.print(
    `${running === null ? 'Started' : 'Following'} ${id}${session.ui === null ? '' : `: ${session.ui}/namespaces/default/workflows/${id}`}`,
  );
  const ended = new AbortController();
  const following = followComparison(
    client,
    handle,
    context,
    AbortSignal.any([ended.signal, interruption.stop]),
  );
  try {
    return await resultIn(session, id, handle, interruption);
  } finally {
    ended.abort();
    await following;
  }
}

async function summarize(id: string, { docs }: CompareOptions, context: CliContext): Promise<ExitCode> {
  const folder = new ComparisonFolder(join(homeFolder(context.env), 'comparisons'), id);
  if (!existsSync(folder.resultsFile)) {
    context.print(`${id}: finished. Its files are with its workers, not in this home folder.`);
    return exitCodes.ok;
  }
  const [{ finalTable }, results] = await Promise.all([
    import('./final-table.ts'),
    readFile(folder.resultsFile, 'utf8'),
  ]);
  context.print(await finalTable(folder.summaryFile));
  if (docs !== undefined)
    await writeResultsDocument(docs, results, await readFile(folder.summaryFile, 'utf8'));
  context.print(`Results: ${docs ?? folder.resultsFile}`);
  context.print(`Report: ${folder.reportFile}`);
  return exitCodes.ok;
}
