import { join } from 'node:path';
import { parseEvaluation } from '../../contracts/evaluation.ts';
import { isObject } from '../../contracts/json-schema.ts';
import { EvaluationFolder } from '../../store/evaluation-folder.ts';
import type { evaluation as evaluationWorkflow } from '../../workflows/evaluation.ts';
import { queues } from '../../workflows/queues.ts';
import type { EvaluateOptions } from '../commands/evaluate.ts';
import { homeFolder } from '../context.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { Interruption } from '../interruption.ts';
import { inSession, resultIn } from '../run/in-session.ts';
import { readJsonFile } from '../run/read-experiment-file.ts';
import type { Session } from '../run/session.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import { evaluationOf } from './evaluation-of.ts';
import { followEvaluation } from './follow-evaluation.ts';
import { paired } from './paired.ts';
import { scoreTable } from './score-table.ts';

/** `genenv evaluate`: everything that can be is checked before anything is started or written. */
export async function evaluate(file: string | undefined, options: EvaluateOptions, context: CliContext): Promise<ExitCode> {
  const read = file === undefined ? {} : await readJsonFile('evaluation file', file, 'experiments/evaluate-gold.json');
  const raw = isObject(read) ? evaluationOf(read, options) : read;
  const { name, suites } = parseEvaluation(raw);
  const id = options.id ?? name;
  return inSession(externalTemporal(options, context.env), context, {
    again: 'the same command',
    follow: (session, interruption) =>
      followed(session, id, context, interruption, () =>
        session.client.workflow.start<typeof evaluationWorkflow>('evaluation', {
          taskQueue: queues.workflows,
          workflowId: id,
          args: [raw],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `${name}: ${suites.join(', ')}`.slice(0, 200),
        }),
      ),
    end: async () => {
      const code = await showScores(id, context);
      return code === exitCodes.ok && options.against !== undefined ? paired(id, options.against, context) : code;
    },
  });
}

/** Starts a workflow that scores, and shows how it gets on until its end. */
export async function followed<Result>(
  session: Session,
  id: string,
  context: CliContext,
  interruption: Interruption,
  start: () => Promise<{ workflowId: string; result(): Promise<Result>; query<Answer>(name: string): Promise<Answer> }>,
): Promise<Result | undefined> {
  const handle = await start();
  context.print(`Following ${id}${session.ui === null ? '' : `: ${session.ui}/namespaces/default/workflows/${handle.workflowId}`}`);
  const ended = new AbortController();
  const following = followEvaluation(session.client, handle, context, AbortSignal.any([ended.signal, interruption.stop]));
  try {
    return await resultIn(session, id, handle, interruption);
  } finally {
    ended.abort();
    await following;
  }
}

export const evaluationFolder = (id: string, { env }: CliContext): EvaluationFolder => new EvaluationFolder(join(homeFolder(env), 'evaluations'), id);

/** Prints the figures; fails where no suite could be evaluated. */
export async function showScores(id: string, context: CliContext): Promise<ExitCode> {
  const folder = evaluationFolder(id, context);
  const results = await folder.readResults();
  if (results === undefined) {
    context.print(`${id}: finished. Its files are with its workers, not in this home folder.`);
    return exitCodes.ok;
  }
  context.print(scoreTable(results));
  context.print(`Results: ${folder.resultsFile}`);
  context.print(`Cases: ${folder.casesFile}`);
  return results.suites.every(({ skipped }) => skipped !== null) ? exitCodes.failed : exitCodes.ok;
}
