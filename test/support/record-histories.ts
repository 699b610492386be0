import { writeFileSync } from 'node:fs';
import { queues } from '../../src/workflows/queues.ts';
import { LiveStack } from './live-stack.ts';
import { tinyExperiment } from './tiny-experiment.ts';

/** Runs the tiny experiment and stores the histories that test/workflows/replay.test.ts replays. */
await using stack = await LiveStack.start();
await stack.policyReady();
await stack.startWorker();
// One run of the workflow, so that its whole history is one file.
const file = { ...tinyExperiment(), epochs: 1 };
await stack.client.workflow.execute('experiment', { args: [file], workflowId: 'recorded', taskQueue: queues.workflows });
for (const [name, workflowId] of [['experiment', 'recorded'], ['epoch', 'recorded/epoch-0001']] as const) {
  writeFileSync(new URL(`../workflows/histories/${name}.json`, import.meta.url), await stack.temporalCli('workflow', 'show', '--workflow-id', workflowId, '--output', 'json'));
}
