import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { listResults, timeOfFirst } from '../../runs/list-results.ts';
import { EvaluationFolder } from '../../runs/result-folders.ts';
import type { EvaluationProgress, EvaluationResults } from '../../types/evaluation-types.ts';
import { outageText } from '../../workflows/outage-text.ts';
import { commandLine, temporalFlags } from './command-line.ts';
import { queryIfAnswered } from './query-progress.ts';
import { countText, plural } from './text.ts';
import { blankStatus, endedState, watchCommand, workStatuses } from './work-status.ts';
import type { RunningWorkflow, StatusServer, WorkStatus } from './work-status.ts';

const evaluationsFolder = (home: string): string => join(home, 'evaluations');

/** Evaluations of this home, and those that run, sorted by id. */
export const evaluationStatuses = (home: string, server: StatusServer): Promise<WorkStatus[]> =>
  workStatuses(
    {
      root: evaluationsFolder(home),
      type: 'evaluation',
      describe: (id) => evaluationStatus(home, id, server),
    },
    server.running,
  );

/** Whether there is an evaluation of this name, by its folder. */
export const hasEvaluation = async (home: string, id: string): Promise<boolean> =>
  (await listResults(evaluationsFolder(home))).includes(id);

export async function evaluationStatus(
  home: string,
  id: string,
  { client, running, options }: StatusServer,
): Promise<WorkStatus> {
  const status = blankStatus('evaluation', id, join(evaluationsFolder(home), id));
  try {
    const folder = new EvaluationFolder(evaluationsFolder(home), id);
    const workflow = running.find(
      (candidate) =>
        (candidate.type === 'evaluation' && candidate.id === id) ||
        (candidate.type === 'rescoring' && candidate.id === `${id}/rescoring`),
    );
    if (workflow !== undefined && client !== null)
      return {
        ...status,
        ...(await progressOf(client, workflow)),
        command: watchCommand(id, options),
      };
    const results = await folder.readResults();
    if (results !== undefined)
      return {
        ...status,
        state: 'finished',
        progress: resultText(results),
        time: await timeOfFirst([folder.resultsFile]),
      };
    return {
      ...status,
      state: await endedState(client, id),
      progress: 'answers are kept',
      time: await timeOfFirst([folder.evaluationFile]),
      command: commandLine(['evaluate', folder.evaluationFile], { '--id': id, ...temporalFlags(options) }),
    };
  } catch (error) {
    return { ...status, problem: error instanceof Error ? error.message : String(error) };
  }
}

async function progressOf(
  client: Client,
  { id, started }: RunningWorkflow,
): Promise<Pick<WorkStatus, 'state' | 'progress' | 'time'>> {
  const progress = await queryIfAnswered(client, () =>
    client.workflow.getHandle(id).query<EvaluationProgress>('progress'),
  );
  return {
    state: 'running',
    progress: progress === undefined ? 'no worker answers' : progressText(progress),
    time: started,
  };
}

/** A server that is away comes first: it is what the evaluation waits for. */
function progressText({ status, shards, answered, judged, waiting }: EvaluationProgress): string {
  if (shards === 0) return status;
  const shared = `${status}: ${answered} of ${shards} shards answered, ${judged} judged`;
  return waiting === null ? shared : `${outageText(waiting)}; ${shared}`;
}

function resultText({ suites }: EvaluationResults): string {
  const evaluated = suites.flatMap((suite) => (suite.skipped === null ? [suite] : []));
  const total = (count: 'cases' | 'correct'): string =>
    countText(evaluated.reduce((sum, suite) => sum + suite[count], 0));
  return evaluated.length === 0
    ? `all ${plural(suites.length, 'suite')} skipped`
    : `${total('correct')} of ${total('cases')} right, ${plural(evaluated.length, 'suite')}`;
}
