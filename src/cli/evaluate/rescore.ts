import { queues } from '../../workflows/activity-proxies.ts';
import type { rescoringWorkflow as rescoring } from '../../workflows/evaluation.ts';
import type { CliContext } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { inSession } from '../run/in-session.ts';
import { externalTemporal } from '../run/temporal-target.ts';
import type { TemporalOptions } from '../temporal-options.ts';
import { followed } from './follow-evaluation.ts';
import { showScores } from './show-scores.ts';

/** `genenv rescore`: the same answers, judged again. */
export function rescore(id: string, options: TemporalOptions, context: CliContext): Promise<ExitCode> {
  return inSession(externalTemporal(options, context.env), context, {
    again: `npx genenv rescore ${id}`,
    follow: (session, interruption) =>
      followed(session, id, context, interruption, () =>
        session.client.workflow.start<typeof rescoring>('rescoring', {
          taskQueue: queues.workflows,
          workflowId: `${id}/rescoring`,
          args: [{ evaluation: id }],
          workflowIdConflictPolicy: 'USE_EXISTING',
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          staticSummary: `the answers of ${id}, judged again`,
        }),
      ),
    end: () => showScores(id, context),
  });
}
