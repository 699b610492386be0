import { parseEvaluation } from '../../config/evaluation.ts';
import { isObject } from '../../validation/json-schema.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { evaluationWorkflow } from '../../workflows/evaluation.ts';
import type { EvaluateOptions } from '../commands/evaluate.ts';
import type { CliContext } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { inSession } from '../run/in-session.ts';
import { readJsonFile } from '../run/read-experiment-file.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import { evaluationOf } from './evaluation-of.ts';
import { followed } from './follow-evaluation.ts';
import { paired } from './paired.ts';
import { showScores } from './show-scores.ts';

/** `genenv evaluate`: everything that can be is checked before anything is started or written. */
export async function evaluate(
  file: string | undefined,
  options: EvaluateOptions,
  context: CliContext,
): Promise<ExitCode> {
  const read =
    file === undefined ? {} : await readJsonFile('evaluation file', file, 'experiments/evaluate-gold.json');
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
      return code === exitCodes.ok && options.against !== undefined
        ? paired(id, options.against, context)
        : code;
    },
  });
}
