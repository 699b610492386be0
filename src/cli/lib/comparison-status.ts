import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { armRuns } from '../../comparison/plan.ts';
import { listResults, timeOfFirst } from '../../runs/list-results.ts';
import { ComparisonFolder } from '../../runs/result-folders.ts';
import { RunFolder } from '../../runs/run-folder.ts';
import { readRunOverview, runsFolder } from '../../runs/run-overview.ts';
import type { ComparisonProgress } from '../../types/comparison-types.ts';
import { reportText } from '../../workflows/outage-text.ts';
import { commandLine, temporalFlags } from './command-line.ts';
import { queryIfAnswered } from './query-progress.ts';
import { blankStatus, endedState, watchCommand, workStatuses } from './work-status.ts';
import type { StatusServer, WorkStatus } from './work-status.ts';

const comparisonsFolder = (home: string): string => join(home, 'comparisons');

/** Comparisons of this home, and those that run, sorted by id. */
export const comparisonStatuses = (home: string, server: StatusServer): Promise<WorkStatus[]> =>
  workStatuses(
    {
      root: comparisonsFolder(home),
      type: 'comparison',
      describe: (id) => comparisonStatus(home, id, server),
    },
    server.running,
  );

/** Whether there is a comparison of this name, by its folder. */
export const hasComparison = async (home: string, id: string): Promise<boolean> =>
  (await listResults(comparisonsFolder(home))).includes(id);

export async function comparisonStatus(
  home: string,
  id: string,
  { client, running, options }: StatusServer,
): Promise<WorkStatus> {
  const status = blankStatus('comparison', id, join(comparisonsFolder(home), id));
  try {
    const folder = new ComparisonFolder(comparisonsFolder(home), id);
    const workflow = running.find((candidate) => candidate.type === 'comparison' && candidate.id === id);
    if (workflow !== undefined && client !== null)
      return {
        ...status,
        state: 'running',
        progress: await progressOf(client, id),
        time: workflow.started,
        command: watchCommand(id, options),
      };
    const isFinished = (await folder.readText(folder.summaryFile)) !== undefined;
    return {
      ...status,
      state: isFinished ? 'finished' : await endedState(client, id),
      progress: await finishedRuns(home, folder, id),
      time: await timeOfFirst(isFinished ? [folder.summaryFile] : [folder.comparisonFile]),
      // The file that it was started with is its owner's; the folder has each arm's experiment instead.
      command: isFinished
        ? `npx genenv report ${id}`
        : commandLine(['compare', 'FILE'], { '--id': id, ...temporalFlags(options) }),
    };
  } catch (error) {
    return { ...status, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function progressOf(client: Client, id: string): Promise<string> {
  const progress = await queryIfAnswered(client, () =>
    client.workflow.getHandle(id).query<ComparisonProgress>('progress'),
  );
  if (progress === undefined) return 'no worker answers';
  const { status, runs, done, failed, waiting } = progress;
  const parts = [
    ...waiting.map(reportText),
    ...(runs === 0 ? [status] : [`${status}: ${done} of ${runs} runs done`]),
    ...(failed.length === 0 ? [] : [`${failed.length} failed`]),
  ];
  return parts.join(', ');
}

async function finishedRuns(home: string, folder: ComparisonFolder, id: string): Promise<string> {
  const stored = await folder.read();
  if (stored === undefined) return '';
  const runs = armRuns(id, stored.comparison);
  const overviews = await Promise.all(
    runs.map((run) => readRunOverview(new RunFolder(runsFolder(home), run.id))),
  );
  return `${overviews.filter((overview) => overview?.finished === true).length} of ${runs.length} runs finished here`;
}
