import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { modelFolderCheck } from '../../src/config/permitted-folders.ts';
import { withFields } from '../../test-support/experiments.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { createActivities, plainDependencies } from '../../test-support/plain-epochs.ts';
import { filesIn, temporaryFolder } from '../store/temporary-folder.ts';
import { smallFile } from './some-run.ts';

/** Two folders that look like models, of which a worker permits one, and the worker's first activities. */
async function modelsOf(content: string) {
  const root = realpathSync(await temporaryFolder());
  const folder = (...names: string[]): string => {
    const path = join(root, ...names);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'weights.txt'), content);
    return path;
  };
  const home = join(root, 'home');
  const trainer = new FakeTrainer();
  const activities = createActivities({
    ...plainDependencies(home, 'http://127.0.0.1:1', trainer),
    requireModelFolder: modelFolderCheck([join(root, 'models')]),
  });
  const warmUp = async (role: 'agent' | 'environment', path: string) => {
    const file = withFields(smallFile, {
      [`${role}.model`]: { type: 'pretrained', path, adapter: {} },
      'agent.training.klCoefficient': 0.01,
    });
    const { run } = await activities.parseExperiment({ id: basename(path), file });
    return activities.warmUp({ run, role });
  };
  return { home, trainer, warmUp, permitted: folder('models', 'small'), outside: folder('private') };
}

test.each(['agent', 'environment'] as const)(
  'a model of the %s in a folder that the worker does not permit is refused unread',
  async (role) => {
    const content = 'canary of the model folder';
    const { home, trainer, warmUp, permitted, outside } = await modelsOf(content);
    const copies = async (): Promise<string[]> => {
      const names = await filesIn(home);
      const texts = await Promise.all(names.map((name) => readFile(join(home, name), 'utf8')));
      return names.filter((_, at) => texts[at]?.includes(content));
    };

    const refusal: unknown = await warmUp(role, outside).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      name: 'InvalidConfig',
      message: expect.stringMatching(
        new RegExp(`${role}\\.model\\.path: got .*private.*; workers read only what is in .*/models: `),
      ) as string,
    });
    expect(String(refusal)).not.toContain(content);
    expect(trainer.jobs).toEqual([]);
    expect(await copies()).toEqual([]);

    // A trainer reads and copies a model that is permitted.
    await warmUp(role, permitted);
    expect(trainer.jobs.map(({ job }) => job.model)).toEqual([{ path: permitted }]);
    expect(await copies()).not.toEqual([]);
  },
);
