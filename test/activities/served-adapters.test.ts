/** Which adapters a server holds while a run goes on, and what happens if it loses one. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import { withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeSglang } from '../../test-support/fake-sglang.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { pretrainedModel, smallFile } from './some-run.ts';

type Dialect = 'vllm' | 'sglang';

async function someRun(dialect: Dialect, fields: Record<string, unknown> = {}) {
  const home = await temporaryFolder();
  const model = await pretrainedModel();
  const file = withFields(smallFile, {
    epochs: 9,
    'agent.model': model,
    'environment.model': model,
    'environment.initialShare': 0.25,
    'guards.frozenSamples': 2,
    'evaluation.every': 1,
    serving: { type: dialect, baseUrl: 'http://127.0.0.1:1/v1' },
    ...fields,
  });
  const options = {
    model: fakeToolboxModel(parseExperiment(file).world),
    baseModel: { name: 'base' },
  };
  const server = await (dialect === 'sglang' ? FakeSglang.start(options) : FakeModelServer.start(options));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const dependencies = plainDependencies(home, server.url, new FakeTrainer());
  const activities = createActivities(dependencies);
  const { plan, prepared } = await begin(activities, 'adapters', file);
  const next = (last: CommittedEpoch) => plainEpoch(activities, plan, last);
  const served = (): string[] => [...server.adapters.loaded.keys()].toSorted();
  return { activities, plan, prepared, server, next, served };
}

const namesOf = ({ state }: CommittedEpoch): string[] => [
  ...new Set([
    state.agent.name,
    state.environment.name,
    state.initial_agent.name,
    state.initial_environment.name,
    ...(state.anchor ? [state.anchor.agent.name] : []),
  ]),
];

describe.each<Dialect>(['vllm', 'sglang'])('served adapters (%s)', (dialect) => {
  it('are those of the last two epochs and the next, and the first ones, however long the run', async () => {
    const { prepared, next, served, server } = await someRun(dialect);
    const committed = [prepared];
    for (let epoch = 1; epoch <= 8; epoch++) committed.push(await next(committed.at(-1)!));
    const kept = committed.slice(-3).flatMap(namesOf);
    expect(new Set(committed.map(({ state }) => state.agent.name)).size).toBe(9);
    expect(served()).toEqual([...new Set(kept)].toSorted());
    // Nothing that was asked for had been unloaded: a loss would have loaded a name twice.
    const loads = server.adapters.calls.filter(({ call }) => call === 'load').map(({ name }) => name);
    expect(new Set(loads).size).toBe(loads.length);
  });

  it('are loaded again where a server has lost them: by a restart, or for another run', async () => {
    const { prepared, next, server, served } = await someRun(dialect);
    const first = await next(prepared);
    server.adapters.forget();
    const second = await next(first);
    expect(served()).toEqual(
      [
        ...new Set([...namesOf(first).filter((name) => !name.includes('@0002')), ...namesOf(second)]),
      ].toSorted(),
    );
    for (const name of namesOf(first)) server.adapters.unload(name);
    expect((await next(second)).epoch).toBe(3);
  });

  it('are kept for a rollback: the agent that the check for forgetting goes back to', async () => {
    const { prepared, next, served } = await someRun(dialect, {
      'guards.gateAgent': { every: 1, tasks: 4, drop: 0.9 },
    });
    let last = prepared;
    for (let epoch = 1; epoch <= 5; epoch++) last = await next(last);
    expect(served()).toContain(last.state.anchor!.agent.name);
  });
});
