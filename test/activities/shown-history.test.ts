import { expect, it } from 'vitest';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { HistoryRecord, TaskRecord } from '../../src/types/records.ts';
import { createWorld } from '../../src/worlds/registry.ts';
import { smallFile, someRun } from './some-run.ts';

const world = createWorld(parseExperiment(smallFile).world);

/** New tasks of the third epoch, after two in which the agent was measured. */
async function thirdEpoch(fields: Record<string, unknown>) {
  const run = await someRun(fields);
  const { state } = await run.epochs(3);
  const ledger = run.dependencies
    .runFolder(run.plan.run.id)
    .ledger<LedgerEntry>(run.plan.run.experiment.sha256);
  const { outputs } = (await ledger.read()).at(-1)!;
  const tasks = await run.records<TaskRecord>(outputs.tasks);
  const { agent } = await run.dependencies.store.json<HistoryRecord>(state.history);
  return { agent, tasks: tasks.filter(({ source }) => source === 'new') };
}

it('tells the simulator how the agent did, unless it is not shown', async () => {
  const [shown, blank] = [await thirdEpoch({}), await thirdEpoch({ 'history.shown': false })];
  const seedOf = ({ context }: TaskRecord): string =>
    /([A-Z]+[^A-Z]*?)_*=$/.exec(context.split('|').at(-1)!)![1]!;
  const isBlank = (task: TaskRecord): boolean =>
    task.context === world.environmentPrompt(emptyHistory(), seedOf(task));
  expect([shown.tasks.some(isBlank), blank.tasks.every(isBlank)]).toEqual([false, true]);
  expect(blank.tasks.every(({ history_success }) => history_success === null)).toBe(true);
  expect(shown.tasks.every(({ history_success }) => history_success !== null)).toBe(true);
  // It is measured all the same: arms, pools and reports read it.
  expect(blank.agent.success).not.toBeNull();
});
