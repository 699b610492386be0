import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import type { TraceRecord } from '../../src/types/records.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { miniDeskSettings } from '../../src/worlds/minidesk/settings.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { LiveStack } from '../../test-support/live-stack.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';

const settings = {
  type: 'minidesk',
  records: 3,
  conjuncts: 1,
  turns: 4,
  baseSteps: [2, 3],
  baseTasks: 8,
  heldOutPerCell: 2,
  warmUp: { actionAccuracy: 0.9 },
};
const file = () => {
  const tiny = tinyExperiment({ world: settings, epochs: 1 }) as Record<
    'agent' | 'environment',
    Record<string, unknown>
  >;
  const model = {
    type: 'scratch',
    architecture: { hiddenSize: 32, layers: 2, heads: 2, intermediateSize: 64 },
    warmUp: { rows: 6400, batch: 64, learningRate: 0.01 },
  };
  return {
    ...tiny,
    agent: {
      ...tiny.agent,
      model,
      sampling: { maxTokens: 5 },
      training: { ...(tiny.agent.training as object), stepsPerEpoch: 1 },
    },
    environment: { ...tiny.environment, model, sampling: { maxTokens: 26 } },
  };
};

test(
  'a world of several turns on a real server and a real trainer: sampler and trainer see the same tokens',
  { timeout: 400_000 },
  async () => {
    await using stack = await LiveStack.shared();
    const worker = await stack.startWorker();
    await stack.client.workflow.execute('experiment', {
      args: [file()],
      workflowId: 'desk',
      taskQueue: queues.workflows,
    });
    await worker.stop();
    const [, { outputs, metrics }] = stack.entries('desk') as [LedgerEntry, LedgerEntry];
    // Before the one update, through all turns, the trainer's log-probabilities of the actions are those they
    // were sampled with.
    expect(metrics['sampling/sampling_logp_difference/max']).toBeLessThan(1e-3);
    expect(metrics['env/valid_fraction']).toBeGreaterThan(0);
    const store = new ObjectStore(join(stack.home, 'store'));
    const traces = (
      await Promise.all(outputs.traces.map((ref) => collect(store.records<TraceRecord>(ref))))
    ).flat();
    const world = createWorld(miniDeskSettings.parse(settings));
    const text = (ids: readonly number[]) =>
      ids.map((id) => (id === 2 ? '$' : (world.vocabulary[id - 3] ?? '#'))).join('');
    expect(traces.some(({ turns = [] }) => turns.length > 1)).toBe(true);
    for (const {
      sampled: { token_ids, mask = [] },
      turns = [],
    } of traces) {
      // The world's characters as the real tokenizer has them, and the end of each action where it was
      // sampled.
      expect(text(token_ids)).toBe(
        turns
          .map(
            ({ action, observation }, index) =>
              `${action}${text(token_ids).split('$').length > index + 1 ? '$' : ''}${observation ?? ''}`,
          )
          .join(''),
      );
      expect(mask).toHaveLength(token_ids.length);
    }
  },
);
