import { expect, it } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import type { TaskRecord } from '../../src/types/records.ts';
import type { CallsTask } from '../../src/worlds/calls/task-schema.ts';
import { namesArguments } from '../../src/worlds/calls/wording.ts';
import type { FakeModel } from '../../test-support/fake-model-server.ts';
import { plainEpoch } from '../../test-support/plain-epochs.ts';
import { tasksOf } from '../worlds/json-tasks-support.ts';
import { pretrainedModel } from './some-run.ts';
import { runWithApi } from './two-servers.ts';

const tools = [
  {
    name: 'set_lamp',
    description: 'Switches a lamp.',
    parameters: { room: { type: 'string' }, level: { type: 'integer' } },
    required: ['room', 'level'],
  },
];
const rooms = ['cellar', 'kitchen', 'attic', 'hallway'];

/** Writes calls as the simulator, words them well or ill, and knows no answer as the agent. */
const plays: FakeModel = (prompt, random, model) => {
  const [, calls] = /must make:\n(.+)\n/.exec(prompt) ?? [];
  if (calls !== undefined) {
    const [{ arguments: made }] = JSON.parse(calls) as [{ arguments: { room: string; level: number } }];
    return random.next() < 0.6
      ? `Could it be ${made.level} bright in the ${made.room}?`
      : 'Please make it brighter.';
  }
  if (!model.startsWith('environment')) return 'I do not know.';
  const made = { room: random.pick(rooms), level: 1 + random.int(90) };
  return JSON.stringify({ tools, calls: [{ name: 'set_lamp', arguments: made }] });
};

async function wordedRun(wording: object) {
  const model = await pretrainedModel();
  const run = await runWithApi(
    {
      world: { type: 'calls', format: 'chatml', tasksFile: { path: tasksOf('calls') }, wording },
      'agent.model': model,
      'environment.model': model,
    },
    { model: plays },
  );
  const { metrics } = await plainEpoch(run.activities, run.plan, run.prepared);
  const opened = await run.ports.runFolder('split').open<LedgerEntry>();
  const [, line] = await opened!.ledger.read();
  const tasks = await collect(run.ports.store.records<TaskRecord>(line!.outputs.tasks!));
  return { ...run, metrics: metrics as Record<string, number>, model, recorded: run.metrics, tasks };
}

it('words tasks around calls that are their labels: well, or in the code’s own words', async () => {
  const run = await wordedRun({});
  const written = run.tasks.filter(({ sampled }) => sampled !== null);
  const worded = written.filter((task) => task.worded);
  expect(worded.length).toBeGreaterThan(0);
  expect(worded.length).toBeLessThan(written.length);
  expect(run.metrics['env/worded']).toBe(worded.length);
  expect(run.metrics['env/label_votes']).toBeUndefined();
  expect(run.own.requests.some(({ n }) => n === 5)).toBe(false);
  for (const { spec, sampled, worded: isWorded } of written) {
    const task = JSON.parse(spec!) as CallsTask;
    const [{ arguments: made }] = (JSON.parse(sampled!.text) as { calls: [{ arguments: object }] }).calls;
    expect(task.calls[0]!.arguments).toEqual(
      Object.fromEntries(Object.entries(made).map(([name, value]) => [name, [value]])),
    );
    expect(namesArguments(task.dialogue[0]!.content, task)).toBe(true);
    expect(task.dialogue[0]!.content).toMatch(
      isWorded ? /^Could it be/ : /^Please do this\. Switches a lamp \(room: /,
    );
  }
  // The simulator is shown tasks as it is to write them.
  const shown = run.own.requests.find(({ model }) => model.startsWith('environment'))!.prompt[0] as string;
  expect(/Task to vary: (.+)/.exec(shown)![1]).not.toContain('dialogue');

  const again = await runWithApi(run.file, { model: plays });
  await plainEpoch(again.activities, again.plan, again.prepared);
  expect(await again.ledger()).toBe(await run.ledger());
});

it('asks a server of its own for the words, where the file names one', async () => {
  const run = await wordedRun({
    server: { type: 'openai', baseUrl: 'endpoint:api', model: 'worder', api: 'chat', maxTokens: 200 },
  });
  expect(run.metrics['env/worded']).toBeGreaterThan(0);
  expect(run.api.chats.length).toBe(run.tasks.filter(({ sampled }) => sampled !== null).length);
  expect(run.api.chats.every(({ model, max_tokens: most }) => model === 'worder' && most === 200)).toBe(true);
  expect(run.own.requests.some(({ prompt }) => String(prompt[0]).includes('must make'))).toBe(false);
  const [, usage] = await run.recorded();
  expect(usage!['usage/wording_completion_tokens']).toBeGreaterThan(0);
});
