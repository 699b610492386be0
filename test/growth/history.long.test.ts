import { expect, test } from 'vitest';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { exampleExperiment, exampleFile, withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';

/** Four tasks an epoch, two rollouts each, in one shard. */
const tiny = {
  'world.heldOutPerCell': 1,
  'world.heldOutLengths': [1, 2],
  'world.baseTasks': 8,
  'environment.promptsPerEpoch': 2,
  'environment.variationsPerPrompt': 2,
  'agent.rolloutsPerTask': 2,
  'environment.model.warmUp.rows': 64,
  'agent.model.warmUp.rows': 96,
  'evaluation.every': 1000,
  'durability.shards': 1,
  'durability.epochsPerRun': 10,
};
/** Set GENENV_CHAOS=1 for 200 epochs, which take five minutes. */
const longRun = process.env.GENENV_CHAOS === '1' ? 200 : 40;
const plain = { 'durability.shards': 4, epochs: 2 };
const experiments: Record<string, Record<string, unknown>> = {
  short: { epochs: 10 },
  long: { epochs: longRun },
  few: { ...plain, 'environment.promptsPerEpoch': 32, 'durability.promptsPerRequest': 4 },
  many: {
    ...plain,
    'environment.promptsPerEpoch': 128,
    'agent.rolloutsPerTask': 8,
    'durability.promptsPerRequest': 4,
  },
};

test('the history of an epoch does not grow with its rollouts, nor that of an experiment with its epochs', async () => {
  await using stack = await InstantStack.start(exampleExperiment(tiny).world);
  const { workflow } = stack.client;
  for (const [workflowId, fields] of Object.entries(experiments)) {
    const result = (await workflow.execute('experiment', {
      args: [withFields(exampleFile, { ...tiny, ...fields })],
      workflowId,
      taskQueue: queues.workflows,
    })) as { epochs: number };
    expect(result.epochs).toBe(fields.epochs);
  }

  /**
   * Types of a history's events, workflow tasks left out: how many of those there are depends on what arrives
   * together.
   */
  const events = async (workflowId: string, runId?: string): Promise<string[]> => {
    const { events: all } = await workflow.getHandle(workflowId, runId).fetchHistory();
    return all!.map(({ eventType }) => String(eventType));
  };
  const taskEvents = new Set(['5', '6', '7', '8', '9']);
  const steps = (types: readonly string[]): string[] => types.filter((type) => !taskEvents.has(type));
  const runs = async (workflowId: string): Promise<string[][]> => {
    const histories: string[][] = [];
    for await (const { runId } of workflow.list({ query: `WorkflowId = '${workflowId}'` }))
      histories.push(await events(workflowId, runId));
    return histories;
  };
  const epoch = (id: string, number: number): Promise<string[]> =>
    events(`${id}/epoch-${String(number).padStart(4, '0')}`);

  const [short, long] = [await runs('short'), await runs('long')];
  expect([short.length, long.length]).toEqual([1, longRun / 10]);
  const longest = (histories: string[][]): number =>
    Math.max(...histories.map((types) => steps(types).length));
  // One event more where a run continues as new.
  expect(longest(long)).toBeLessThanOrEqual(longest(short) + 1);
  for (const types of [...short, ...long]) expect(types.length).toBeLessThan(400);

  const first = await epoch('short', 1);
  // Not the epochs in which the agent is held against its anchor set, each fifth.
  for (const number of [2, 19, 22, longRun - 1]) {
    const later = await epoch('long', number);
    expect(steps(later).toSorted()).toEqual(steps(first).toSorted());
    expect(later.length).toBeLessThan(150);
  }

  const [few, many] = [await epoch('few', 1), await epoch('many', 1)];
  expect(steps(many).toSorted()).toEqual(steps(few).toSorted());
}, 600_000);
