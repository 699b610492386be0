import { writeFileSync } from 'node:fs';
import { queues } from '../src/workflows/activity-proxies.ts';
import { LiveStack } from './live-stack.ts';
import { tinyComparison } from './tiny-comparison.ts';
import { tinyExperiment } from './tiny-experiment.ts';

/**
 * Runs the tiny experiment, and a comparison of one arm, and stores the histories that
 * test/workflows/replay.test.ts replays: all, or those named as arguments.
 */
const wanted = process.argv.slice(2);
await using stack = await LiveStack.start();
await stack.policyReady();
await stack.startWorker();
const started = {
  // One run of the workflow, so that its whole history is one file.
  experiment: {
    id: 'recorded',
    file: { ...tinyExperiment(), epochs: 1 },
    histories: [
      ['experiment', 'recorded'],
      ['epoch', 'recorded/epoch-0001'],
    ],
  },
  comparison: {
    id: 'recorded-comparison',
    file: tinyComparison({ seeds: [1], arms: { tuned: {} }, baseline: 'tuned' }),
    histories: [['comparison', 'recorded-comparison']],
  },
} as const;
for (const [type, { id, file, histories }] of Object.entries(started)) {
  if (wanted.length > 0 && !wanted.includes(type)) continue;
  await stack.client.workflow.execute(type, { args: [file], workflowId: id, taskQueue: queues.workflows });
  for (const [name, workflowId] of histories) {
    writeFileSync(
      new URL(`../test/workflows/histories/${name}.json`, import.meta.url),
      await stack.temporalCli('workflow', 'show', '--workflow-id', workflowId, '--output', 'json'),
    );
  }
}
