import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { workflowSettings } from '../../src/runs/settings-in-effect.ts';
import { planActions } from '../../src/runs/temporal-actions.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { queues } from '../../src/workflows/activity-proxies.ts';
import { billedActions } from '../../test-support/billed-actions.ts';
import { withFields } from '../../test-support/experiments.ts';
import { InstantStack } from '../../test-support/instant-stack.ts';
import { until } from '../../test-support/processes.ts';
import { reportData } from '../../test-support/report-data.ts';
import { tinyExperiment } from '../../test-support/tiny-experiment.ts';
import { genenv } from '../cli/genenv-process.ts';

/** What a run is said to cost, against the histories of a real server. */

const epochs = 3;
const file = withFields(tinyExperiment(), {
  epochs,
  'durability.epochsPerRun': 2,
  'durability.shards': 3,
  'evaluation.every': 2,
});
const experiment = parseExperiment(file);
const planned = planActions(workflowSettings(experiment, createWorld(experiment.world)));
const total = planned.epochs.reduce((sum, count) => sum + count, planned.run);
const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);

let stack: InstantStack;
beforeAll(async () => {
  stack = await InstantStack.start(experiment.world);
}, 360_000);
afterAll(() => stack[Symbol.asyncDispose](), 60_000);

const start = (workflowId: string) =>
  stack.client.workflow.start('experiment', { args: [file], workflowId, taskQueue: queues.workflows });
/** Visibility lags a little behind. */
const settled = async (id: string): Promise<number[]> => {
  let counts = await billedActions(stack.client, id, epochs);
  await until(
    async () => {
      const before = sum(counts);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      counts = await billedActions(stack.client, id, epochs);
      return sum(counts) === before;
    },
    30_000,
    'a settled visibility',
  );
  return counts;
};

test(
  'the plan is what the histories of an undisturbed run hold, action for action',
  { timeout: 600_000 },
  async () => {
    await (await start('calm')).result();
    const counts = await settled('calm');
    expect(sum(counts)).toBe(total);
    // In the experiment’s own history an epoch is its opening, the child and an upsert.
    const own = 1 + 2 + 1;
    expect(counts.slice(1)).toEqual(planned.epochs.slice(1).map((count) => count - own));
  },
);

test('the report counts further attempts too', { timeout: 600_000 }, async () => {
  const handle = await start('disturbed');
  await until(
    async () => (await stack.client.workflow.count('WorkflowId = "disturbed/epoch-0001"')).count > 0,
    60_000,
    'the first epoch',
  );
  await stack.killWorker();
  await handle.result();
  const counts = await settled('disturbed');
  const report = await genenv(['report', 'disturbed'], { GENENV_HOME: stack.home });
  expect(report.err).toBe('');
  const { view } = reportData(readFileSync(join(stack.home, 'runs/disturbed/report.html'), 'utf8'));
  const actions = Number(view.costs?.rows.at(-1)?.[1]);
  expect(actions).toBe(sum(counts) - planned.run);
});

test('--dry-run says the same number, and the money with prices', { timeout: 120_000 }, async () => {
  const path = join(stack.home, 'tiny.json');
  const prices = join(stack.home, 'prices.json');
  writeFileSync(path, JSON.stringify(file));
  writeFileSync(
    prices,
    JSON.stringify({ date: '2026-11-23', source: 'a test', currency: 'EUR', millionActions: 1e6 }),
  );
  const dry = await genenv(['run', path, '--dry-run', '--prices', prices], { GENENV_HOME: stack.home });
  expect(dry.out).toMatch(new RegExp(`^actions +${total.toLocaleString('en-US')} of Temporal`, 'm'));
  expect(dry.out).toContain(
    `cost        ${total.toFixed(2)} EUR (actions ${total.toFixed(2)}), prices of 2026-11-23: a test`,
  );
  const refused = await genenv(['run', path, '--prices', prices], { GENENV_HOME: stack.home });
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.err).toContain('without --dry-run');
});
