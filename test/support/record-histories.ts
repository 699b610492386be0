import { writeFileSync } from 'node:fs';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { queues } from '../../src/workflows/queues.ts';
import { LiveStack } from './live-stack.ts';
import { tinyExperiment } from './tiny-experiment.ts';

/** Runs the tiny experiment and stores the histories that test/workflows/replay.test.ts replays. */
await using stack = await LiveStack.start();
await stack.startWorker();
await stack.client.workflow.execute('experiment', { args: [tinyExperiment()], workflowId: 'recorded', taskQueue: queues.workflows });
for (const [name, workflowId] of [['experiment', 'recorded'], ['epoch', 'recorded/epoch-0001']] as const) {
  const { firstExecutionRunId } = await stack.client.workflow.getHandle(workflowId).describe().then(({ raw }) => ({ firstExecutionRunId: raw.workflowExecutionInfo?.firstRunId ?? undefined }));
  const history = await stack.client.workflow.getHandle(workflowId, firstExecutionRunId).fetchHistory();
  writeFileSync(new URL(`../workflows/histories/${name}.json`, import.meta.url), `${historyToJSON(history)}\n`);
}
