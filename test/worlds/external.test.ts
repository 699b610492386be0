import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { hashOf } from '../../src/store/canonical-json.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { workerSettings } from '../../src/worker/settings.ts';
import { createWorld, worldLoader } from '../../src/worlds/registry.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';

const module = fileURLToPath(new URL('outside/sums.ts', import.meta.url));
const external = (name = 'sums', settings: Record<string, string | number> = {}) => ({
  type: 'external' as const,
  name,
  settings,
});
const file = (name?: string, settings?: Record<string, string | number>) =>
  withFields(exampleFile, {
    world: external(name, settings),
    epochs: 2,
    'environment.promptsPerEpoch': 4,
    'agent.rolloutsPerTask': 4,
  });

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'genenv-external-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The list with one module of this text. */
async function listOf(text: string): Promise<string> {
  const path = join(await temporaryFolder(), 'world.mjs');
  await writeFile(path, text);
  return `sums=${path}`;
}

const refusal = async (list: string | undefined, settings = external()): Promise<string> => {
  const error: unknown = await worldLoader(list)(settings).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(InvalidConfig);
  return (error as Error).message;
};

describe('a world from outside', () => {
  it('is loaded by its name on the list, with its settings', async () => {
    const world = await worldLoader(`other=./nowhere.ts, sums=${module}`)(external('sums', { digits: 3 }));
    expect(world.score('12+7', '19')).toEqual({ reward: 1, wellFormed: true });
    expect(world.parseTask('999+1')).toEqual({ valid: true, spec: '999+1' });
    const sums = await worldLoader('sums=./test/worlds/outside/sums.ts')(external());
    expect(sums.parseTask('999+1')).toEqual({ valid: false, reason: 'no_sum' });
  });

  it('may be an installed package, by its name', async () => {
    const folder = await mkdtemp(join(repository, 'node_modules', 'genenv-world-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(
      join(folder, 'package.json'),
      JSON.stringify({ name: basename(folder), type: 'module', exports: './world.js' }),
    );
    await writeFile(
      join(folder, 'world.js'),
      `export { createWorld } from ${JSON.stringify(pathToFileURL(module).href)};`,
    );
    const world = await worldLoader(`sums=${basename(folder)}`)(external());
    expect(world.score('12+7', '19')).toEqual({ reward: 1, wellFormed: true });
  });

  it('that is not on the list is refused, naming the variable', async () => {
    expect(await refusal(undefined)).toBe(
      'experiment: world.name: got "sums"; this process allows none (its environment variable GENENV_WORLDS, name=package or name=path, separated by commas)',
    );
    expect(await refusal(`a=${module},b=${module}`)).toContain(
      'got "sums"; this process allows a, b (its environment variable GENENV_WORLDS',
    );
  });

  it.each(['sums=../outside.ts', './outside/sums.ts', '/tmp/sums.ts', 'sums/..', ''])(
    '%j is no name: a file never says where code is',
    (name) => {
      expect(() => parseExperiment(file(name))).toThrow('world.name: got');
    },
  );

  it('is refused where its module does not load, or is no world', async () => {
    expect(await refusal('sums=./test/nowhere.ts')).toMatch(
      /^GENENV_WORLDS: sums=\.\/test\/nowhere\.ts does not load: /,
    );
    expect(await refusal('sums=no-such-package-here')).toMatch(
      /^GENENV_WORLDS: sums=no-such-package-here does not load: /,
    );
    expect(await refusal(await listOf('export const world = {};'))).toContain(
      'exports no function createWorld(settings)',
    );
    expect(
      await refusal(await listOf('export const createWorld = () => ({ name: "x", vocabulary: "abc" });')),
    ).toMatch(/its world lacks vocabulary \(array\), baseTasks \(function\), .*src\/worlds\/world\.ts/);
    expect(await refusal(await listOf('export const createWorld = () => null;'))).toContain(
      'its world lacks name (string)',
    );
  });

  it('may refuse its settings', async () => {
    expect(await refusal(`sums=${module}`, external('sums', { digits: 9 }))).toBe(
      'experiment: world.settings: the world "sums" refuses them: digits: got 9; expected a whole number from 1 to 6',
    );
    expect(await refusal(`sums=${module}`, external('sums', { digit: 2 }))).toContain('digit: unknown');
  });

  it('is not made where no list was asked', () => {
    expect(() => createWorld(external())).toThrow(InvalidConfig);
  });
});

describe('the list', () => {
  it.each(['sums', '=x', 'su ms=x', 'sums='])('%j is refused', (list) => {
    expect(() => worldLoader(list)).toThrow('GENENV_WORLDS: got');
  });

  it('is the worker’s own, from its environment', () => {
    expect(workerSettings({ GENENV_WORLDS: 'a=b' }, undefined).worlds).toBe('a=b');
    expect(workerSettings({}, undefined).worlds).toBeUndefined();
  });
});

describe('an experiment with a world from outside', () => {
  const start = async (list: string | undefined, input: unknown) => {
    const home = await temporaryFolder();
    const server = await FakeModelServer.start({
      seedRule: 'embedded',
      model: (prompt, random, model) =>
        model.startsWith('environment')
          ? `${random.int(50)}+${random.int(50)}`
          : String(
              prompt
                .split('=')[0]!
                .split('+')
                .reduce((sum, term) => sum + Number(term), random.int(2)),
            ),
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const activities = createActivities({
      ...plainDependencies(home, server.url, new FakeTrainer()),
      loadWorld: worldLoader(list),
    });
    return { home, activities, begun: begin(activities, 'outside', input) };
  };

  it('runs like any other', async () => {
    const { activities, begun } = await start(`sums=${module}`, file());
    const { plan, prepared } = await begun;
    const { metrics } = await plainEpoch(activities, plan, prepared);
    expect(metrics['env/valid_fraction']).toBe(1);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.2);
    expect(metrics['env/success_rate']).toBeLessThan(0.8);
    expect(metrics['env/kind/sum']).toBe(1);
  });

  it('is refused before anything is written where the worker does not allow it', async () => {
    const { home, begun } = await start(undefined, file());
    await expect(begun).rejects.toThrow('GENENV_WORLDS');
    expect(await readdir(home)).not.toContain('runs');
  });

  it('has a file of its own hash for other settings', () => {
    expect(hashOf(parseExperiment(file('sums', { digits: 2 })))).not.toBe(
      hashOf(parseExperiment(file('sums', { digits: 3 }))),
    );
  });
});
