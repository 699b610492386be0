import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Dependencies } from '../../src/activities/dependencies.ts';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { ActivityContext } from '../../src/runtime/activity-context.ts';
import { InvalidArtifact } from '../../src/store/errors.ts';
import type { FileRef } from '../../src/store/references.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type { RunPlan } from '../../src/types/run-state.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import type { FakeChat } from '../../test-support/fake-chat.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { fakeToolboxModel, toolboxProbability } from '../../test-support/fake-toolbox-model.ts';
import type { ToolboxPlayer } from '../../test-support/fake-toolbox-model.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import type { Activities } from '../../test-support/plain-epochs.ts';

/**
 * A folder in memory where the machine has one: what is tested here is not durability, which the store's own
 * tests are about.
 */
async function folderInMemory(): Promise<string> {
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'genenv-run-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Settings of a pretrained model whose folder only a fake trainer can read. */
export async function pretrainedModel(fields: object = { adapter: {} }) {
  const path = await folderInMemory();
  await writeFile(join(path, 'weights.txt'), 'pretrained');
  return { type: 'pretrained', path, ...fields };
}

/** Small enough for many tests: 16 tasks an epoch in 2 shards of 2 requests, 4 rollouts each. */
export const smallFile = withFields(exampleFile, {
  epochs: 5,
  'world.tools': 2,
  'world.maxLength': 8,
  'world.baseLengths': [3, 5],
  'world.heldOutLengths': [1, 3],
  'world.heldOutPerCell': 1,
  'world.baseTasks': 12,
  'environment.promptsPerEpoch': 4,
  'agent.rolloutsPerTask': 4,
  'durability.promptsPerRequest': 4,
});

export interface SomeRun {
  home: string;
  server: FakeModelServer;
  trainer: FakeTrainer;
  dependencies: Dependencies;
  activities: Activities;
  plan: RunPlan;
  prepared: CommittedEpoch;
  /** Runs epochs until that one is committed. */
  epochs(count: number, from?: CommittedEpoch): Promise<CommittedEpoch>;
  /** The activities on the same store and server, in another attempt. */
  again(attempt?: Partial<ActivityContext>): Activities;
  records<T>(ref: FileRef | null): Promise<T[]>;
}

/** A run with a real store, prepared up to its first epoch. */
export async function someRun(
  fields: Record<string, unknown> = {},
  player: ToolboxPlayer = {},
  id = 'some-run',
  chat?: FakeChat,
): Promise<SomeRun> {
  const home = await folderInMemory();
  const written = withFields(smallFile, fields);
  const { world, serving } = parseExperiment(written);
  const server = await FakeModelServer.start({
    model: fakeToolboxModel(world, player),
    seedRule: serving.type === 'embedded' ? 'embedded' : 'vllm',
    ...(serving.type === 'embedded' && { probability: toolboxProbability(world, player) }),
    ...(chat && { chat }),
  });
  // A data set's model is that server too, whose address is known only now.
  const file = chat ? withFields(written, { 'arm.source.baseUrl': server.url }) : written;
  onTestFinished(() => server[Symbol.asyncDispose]());
  const trainer = new FakeTrainer();
  const dependencies = plainDependencies(home, server.url, trainer);
  const activities = createActivities(dependencies);
  const { plan, prepared } = await begin(activities, id, file);
  return {
    home,
    server,
    trainer,
    dependencies,
    activities,
    plan,
    prepared,
    epochs: async (count, from = prepared) => {
      let committed = from;
      while (committed.epoch < count) committed = await plainEpoch(activities, plan, committed);
      return committed;
    },
    again: (attempt) => createActivities(plainDependencies(home, server.url, trainer, attempt)),
    records: (ref) => {
      if (ref === null) throw new InvalidArtifact('none', 'the epoch has no such file');
      return collect(dependencies.store.records(ref));
    },
  };
}
