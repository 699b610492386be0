import { writeFileSync } from 'node:fs';
import type { WorkflowHandle } from '@temporalio/client';
import { queues } from '../src/workflows/activity-proxies.ts';
import { withFields } from './experiments.ts';
import { LiveStack } from './live-stack.ts';
import { until } from './processes.ts';
import { tinyComparison } from './tiny-comparison.ts';
import { tinyExperiment } from './tiny-experiment.ts';

/**
 * Runs the tiny experiment, and other workflows as small, and stores the histories that
 * test/workflows/replay.test.ts replays: all, or those named as arguments.
 */
const wanted = process.argv.slice(2);
await using stack = await LiveStack.start();
await stack.policyReady();
await stack.startWorker();

interface Recording {
  type: string;
  id: string;
  file: unknown;
  /** File names of the histories, and the workflows they are of. */
  histories: readonly (readonly [string, string])[];
  /** What happens to the workflow before it ends, by itself if left out. */
  disturb?: (handle: WorkflowHandle) => Promise<void>;
}

const recordings: Record<string, Recording> = {
  // One run of the workflow, so that its whole history is one file.
  experiment: {
    type: 'experiment',
    id: 'recorded',
    file: { ...tinyExperiment(), epochs: 1 },
    histories: [
      ['experiment', 'recorded'],
      ['epoch', 'recorded/epoch-0001'],
    ],
  },
  comparison: {
    type: 'comparison',
    id: 'recorded-comparison',
    file: tinyComparison({ seeds: [1], arms: { tuned: {} }, baseline: 'tuned' }),
    histories: [['comparison', 'recorded-comparison']],
  },
  evaluation: {
    type: 'evaluation',
    id: 'recorded-evaluation',
    file: {
      name: 'recorded-evaluation',
      policy: { type: 'gold' },
      suites: ['bamboogle_closedbook'],
      limit: 4,
      casesPerShard: 2,
    },
    histories: [['evaluation', 'recorded-evaluation']],
  },
  nightly: {
    type: 'nightly',
    id: 'recorded-night',
    file: {
      name: 'recorded-night',
      epochsPerNight: 1,
      evaluation: { samples: 1 },
      experiment: tinyExperiment(),
    },
    histories: [['nightly', 'recorded-night']],
  },
  cancelled: {
    type: 'experiment',
    id: 'recorded-cancelled',
    file: tinyExperiment(),
    histories: [
      ['experiment-cancelled', 'recorded-cancelled'],
      ['epoch-cancelled', 'recorded-cancelled/epoch-0001'],
    ],
    async disturb(handle) {
      const epoch = stack.client.workflow.getHandle('recorded-cancelled/epoch-0001');
      const phase = (): Promise<string> =>
        epoch.query<{ phase: string }>('epochProgress').then(
          (progress) => progress.phase,
          () => '',
        );
      await until(async () => (await phase()) === 'train agent', 120_000, 'the agent’s training');
      await handle.cancel();
    },
  },
  // The last, since the policy server is ended.
  away: {
    type: 'experiment',
    id: 'recorded-away',
    file: withFields(tinyExperiment(), { 'durability.maxPhaseAttempts': 3 }),
    histories: [['experiment-away', 'recorded-away']],
    disturb: () => stack.policy.stop('SIGKILL'),
  },
};

for (const [name, { type, id, file, histories, disturb }] of Object.entries(recordings)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const handle = await stack.client.workflow.start(type, {
    args: [file],
    workflowId: id,
    taskQueue: queues.workflows,
  });
  await disturb?.(handle);
  await handle.result().catch((error: unknown) => console.log(`${name}: ${String(error)}`));
  for (const [historyName, workflowId] of histories) {
    const history = await stack.temporalCli(
      'workflow',
      'show',
      '--workflow-id',
      workflowId,
      '--output',
      'json',
    );
    writeFileSync(
      new URL(`../test/workflows/histories/${historyName}.json`, import.meta.url),
      // Stack traces hold the paths of this machine.
      history.replaceAll(/"stackTrace": "(\\.|[^"\\])*"/g, '"stackTrace": ""'),
    );
  }
}
