import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { shippedQuestions } from '../../src/benchmarks/contamination/benchmark-questions.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { parseCandidate, rejectContaminated } from '../../src/curriculum/generate-candidates.ts';
import type { SeedTaskRecord } from '../../src/types/records.ts';
import { InvalidConfig } from '../../src/validation/invalid-config.ts';
import { createLanguage, readLanguageTasks } from '../../src/worlds/language/language.ts';
import type { LanguageSettings } from '../../src/worlds/language/settings.ts';
import type { TravelTask } from '../../src/worlds/travel/task-schema.ts';
import type { World } from '../../src/worlds/world.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { fakeToolboxModel } from '../../test-support/fake-toolbox-model.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies } from '../../test-support/plain-epochs.ts';
import { smallFile } from '../activities/some-run.ts';
import { read } from '../infra/repository.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { loaded, shippedWorld, specOf } from '../worlds/json-tasks-support.ts';
import { shippedHost } from './attempt.ts';
import { dataFileReader } from '../../src/store/data-files.ts';

const { id, text: question } = shippedQuestions.bamboogle!(shippedHost.shipped)[7]!;
const fault = `it holds the question ${id} of the benchmark bamboogle, which says nothing of a policy that was trained on it: leave it out`;
const fileOf = async (lines: readonly unknown[]): Promise<string> => {
  const path = join(await temporaryFolder(), 'tasks.jsonl');
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
};

describe('tasks of one’s own in the language world', () => {
  const asks = (prompt: string) => ({ prompt, tools: [], evaluation: { kind: 'exact', answers: ['zzz'] } });
  const settings = (path: string) =>
    parseExperiment(
      withFields(exampleFile, {
        world: { type: 'language', tasksFile: { path } },
        'agent.model': { type: 'pretrained', path: '/m', adapter: {} },
        'environment.model': { type: 'pretrained', path: '/m', adapter: {} },
        serving: {
          type: 'openai',
          baseUrl: 'http://127.0.0.1:1/v1',
          publish: 'vllm-lora',
          returnsTokenIds: true,
        },
      }),
    ).world as LanguageSettings;

  it('are refused where one holds a question, naming file, line, benchmark and case', async () => {
    const path = await fileOf([asks('What is one?'), asks(`Please say:\n${question.toUpperCase()}`)]);
    const failure = await readLanguageTasks(settings(path), dataFileReader(['/'])).then(
      () => new Error('nothing was refused'),
      (error: unknown) => error as Error,
    );
    expect(failure).toBeInstanceOf(InvalidConfig);
    expect(failure).toMatchObject({
      message: expect.stringMatching(
        /^experiment: world\.tasksFile\.path: .*tasks\.jsonl line 2: /,
      ) as string,
    });
    expect(failure.message.endsWith(fault)).toBe(true);
    expect(
      await readLanguageTasks(
        settings(await fileOf([asks('What is one?'), asks('What is two?')])),
        dataFileReader(['/']),
      ),
    ).toMatchObject({ base: [expect.any(String)] });
  });

  it('are no task where a simulator writes them', () => {
    const world = createLanguage({ ...settings('x'), tasksFile: null });
    expect(parseCandidate(world, JSON.stringify(asks(`Quiz. ${question}`)))).toEqual({
      valid: false,
      reason: 'contaminated',
    });
    expect(parseCandidate(world, JSON.stringify(asks('Quiz. What is one?')))).toMatchObject({ valid: true });
    expect(parseCandidate(world, '{}')).toEqual(world.parseTask('{}'));
  });

  it('are no task where the agent would get the question in a later turn alone', async () => {
    const world = await loaded({ type: 'services' });
    const turn = (text: string) => [{ name: 'send_message', arguments: { to: 'Ada', text } }];
    const written = (...texts: string[]): string =>
      JSON.stringify({ state: { files: [], messages: [], tickets: [] }, turns: texts.map(turn) });
    expect(parseCandidate(world, written('hello there', 'good night'))).toMatchObject({ valid: true });
    expect(parseCandidate(world, written('hello there', question))).toEqual({
      valid: false,
      reason: 'contaminated',
    });
  });
});

describe('tasks in TravelPlanner’s parts', () => {
  const [row] = read('data/travelplanner/train_queries.jsonl')
    .split('\n')
    .map((line) => JSON.parse(line || 'null') as TravelTask['query'] | null);
  const lines = read('experiments/tasks/travel.jsonl').trim().split('\n');
  /** A task of the world's own whose query has the benchmark's parts. */
  const copied = (): TravelTask => {
    const { org, dest, days, visiting_city_number, date, people_number, local_constraint, budget } = row!;
    const words: [string, string][] = [
      ['Alderhaven', org],
      ['Valeridge', dest],
      ...['2031-06-02', '2031-06-03', '2031-06-04'].map((day, index): [string, string] => [
        day,
        date[index]!,
      ]),
    ];
    const task = JSON.parse(
      words.reduce((text, [from, to]) => text.replaceAll(from, to), lines[2]!),
    ) as TravelTask;
    return {
      ...task,
      query: { org, dest, days, visiting_city_number, date, people_number, local_constraint, budget },
    };
  };

  it('are refused by name where Travel words them, in a file and from a simulator', async () => {
    const path = await fileOf([JSON.parse(lines[0]!), copied()]);
    await expect(loaded({ type: 'travel', tasksFile: { path } })).rejects.toThrow(
      /tasks\.jsonl line 2: it holds the question train_1 of the benchmark travelplanner/,
    );
    const world = await shippedWorld('travel');
    expect(parseCandidate(world, JSON.stringify(copied()))).toEqual({ valid: false, reason: 'contaminated' });
    expect(() => rejectContaminated(world, specOf(world, copied()), 'world: base task 1 of travel')).toThrow(
      /the question train_1 of the benchmark travelplanner/,
    );
    expect(
      parseCandidate(world, JSON.stringify({ ...copied(), query: { ...copied().query, budget: 1900 } })),
    ).toMatchObject({ valid: true });
  });
});

describe('tasks of any world', () => {
  /** A run up to its first epoch, in a world that shows the agent what is given. */
  async function prepared(
    fields: Record<string, unknown>,
    agentPrompt: (spec: string, own: (spec: string) => string) => string,
    chat?: () => string,
  ) {
    const home = await temporaryFolder();
    const server = await FakeModelServer.start({
      model: fakeToolboxModel(parseExperiment(smallFile).world),
      seedRule: 'embedded',
      ...(chat && { chat }),
    });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const ports = plainDependencies(home, server.url, new FakeTrainer());
    const loadWorld = async (settings: Parameters<typeof ports.loadWorld>[0]): Promise<World> => {
      const own = await ports.loadWorld(settings);
      return { ...own, agentPrompt: (spec) => agentPrompt(spec, (inner) => own.agentPrompt(inner)) };
    };
    const { prepared: run } = await begin(
      createActivities({
        ...ports,
        loadWorld,
        chatClient: (_, timeoutMs) => ports.chatClient({ baseUrl: server.url, apiKeyEnv: null }, timeoutMs),
      }),
      'guarded',
      withFields(smallFile, fields),
    );
    return {
      metrics: run.metrics,
      pool: run.state.task_pool
        ? (await collect(ports.store.records<SeedTaskRecord>(run.state.task_pool))).map(({ spec }) => spec)
        : null,
    };
  }

  it('refuse a base task that holds a question, by its number', async () => {
    await expect(prepared({}, (spec, own) => `${own(spec)} ${question}`)).rejects.toThrow(
      /^experiment: world: base task 1 of toolbox: got [A-Z]:[a-z]+; it holds the question bamboogle_7 of the benchmark bamboogle/,
    );
    expect((await prepared({}, (spec, own) => own(spec))).pool).toBeNull();
  });

  it('refuse a file of a data set, by its line', async () => {
    const path = await fileOf([{ spec: 'T:abcab' }, { spec: 'U:hhhh' }]);
    const shows = (spec: string, own: (spec: string) => string) => (spec === 'U:hhhh' ? question : own(spec));
    const arm = { type: 'offline', source: { type: 'file', path } };
    await expect(prepared({ arm }, shows)).rejects.toThrow(
      `experiment: arm.source.path: ${path} line 2: got U:hhhh; ${fault}`,
    );
    expect((await prepared({ arm }, (spec, own) => own(spec))).pool).toEqual(['T:abcab', 'U:hhhh']);
  });

  it('leave out what another model writes, and count it', async () => {
    const shows = (spec: string, own: (spec: string) => string) => (spec === 'U:hhhh' ? question : own(spec));
    const arm = {
      type: 'offline',
      multiple: 2,
      source: { type: 'model', baseUrl: 'http://127.0.0.1:1/v1', model: 'any' },
    };
    const { metrics, pool } = await prepared({ arm }, shows, () => 'T:abcab\nU:hhhh');
    expect(pool).toEqual(['T:abcab']);
    expect(metrics).toMatchObject({ 'pool/dropped/contaminated': 12, 'pool/dropped/repeat': 11 });
  });
});
