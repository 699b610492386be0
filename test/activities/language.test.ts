import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collect } from '../../src/async/streams.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { estimateResources } from '../../src/runs/resource-estimate.ts';
import type { FileRef } from '../../src/store/references.ts';
import type { CommittedEpoch } from '../../src/types/activity-types.ts';
import type {
  EnvironmentPoolRecord,
  HistoryRecord,
  ProbeOutcomeRecord,
  RewardRecord,
  ScoreRecord,
  SeedTaskRecord,
  TaskRecord,
  TraceRecord,
} from '../../src/types/records.ts';
import { createLanguage } from '../../src/worlds/language/language.ts';
import type { LanguageSettings } from '../../src/worlds/language/settings.ts';
import { languageTask } from '../../src/worlds/language/task.ts';
import { exampleFile, experimentFile, withFields } from '../../test-support/experiments.ts';
import { fakeLanguageModel, truthOf } from '../../test-support/fake-language-model.ts';
import type { LanguagePlayer } from '../../test-support/fake-language-model.ts';
import { FakeModelServer } from '../../test-support/fake-model-server.ts';
import { FakeTrainer } from '../../test-support/fake-trainer.ts';
import { begin, createActivities, plainDependencies, plainEpoch } from '../../test-support/plain-epochs.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { pretrainedModel } from './some-run.ts';

const lora = {
  type: 'openai',
  baseUrl: 'http://127.0.0.1:1/v1',
  publish: 'vllm-lora',
  returnsTokenIds: true,
};
const api = {
  ...lora,
  publish: 'none',
  returnsTokenIds: false,
  models: { agent: 'agent', environment: 'environment' },
};
const bestOfN = {
  arm: { type: 'best-of-n', candidates: 3, exemplars: 2 },
  'environment.training': undefined,
};

/** A run of two small adapters, with a model server that plays both. */
async function languageRun(fields: Record<string, unknown> = {}, player: LanguagePlayer = {}, id = 'words') {
  const home = await temporaryFolder();
  const model = await pretrainedModel();
  const file = withFields(
    withFields(exampleFile, {
      epochs: 4,
      world: { type: 'language', baseTasks: 6, heldOutPerCell: 1 },
      'agent.model': model,
      'environment.model': model,
      'agent.sampling.maxTokens': 400,
      'environment.sampling.maxTokens': 4000,
      'environment.promptsPerEpoch': 4,
      'environment.variationsPerPrompt': 4,
      'agent.rolloutsPerTask': 4,
      'evaluation.every': 2,
      'durability.promptsPerRequest': 4,
      serving: lora,
    }),
    fields,
  );
  const settings = parseExperiment(file).world as LanguageSettings;
  const plays = fakeLanguageModel(settings, player);
  const server = await FakeModelServer.start({
    model: plays,
    chat: ([message], random, body) => plays(message!.content, random, body.model, body.response_format),
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const trainer = new FakeTrainer();
  const ports = plainDependencies(home, server.url, trainer);
  const activities = createActivities(ports);
  const { plan, prepared } = await begin(activities, id, file);
  const folder = ports.runFolder(id);
  const records = <T>(refs: readonly FileRef[]) =>
    Promise.all(refs.map((ref) => collect(ports.store.records<T>(ref)))).then((all) => all.flat());
  const lines = async () => (await folder.open<LedgerEntry>())!.ledger.read();
  return {
    server,
    trainer,
    prepared,
    activities,
    plan,
    records,
    json: <T>(ref: FileRef) => ports.store.json<T>(ref),
    lines,
    ledger: () => readFile(folder.ledgerFile, 'utf8'),
    requestsTo: (role: string) => server.requests.filter(({ model: name }) => name.startsWith(role)),
    tasks: async (epoch: number) =>
      records<TaskRecord>([(await lines()).find((line) => line.epoch === epoch)!.outputs.tasks!]),
    traces: async (epoch: number) =>
      records<TraceRecord>((await lines()).find((line) => line.epoch === epoch)!.outputs.traces),
    epochs: async (count: number): Promise<CommittedEpoch> => {
      let committed = prepared;
      while (committed.epoch < count) committed = await plainEpoch(activities, plan, committed);
      return committed;
    },
  };
}

type Run = Awaited<ReturnType<typeof languageRun>>;

/** Whether a task's label is not what is true. */
function isWrong(spec: string): boolean {
  const { prompt, evaluation } = languageTask(spec);
  return evaluation.kind === 'exact' && evaluation.answers[0] !== truthOf(prompt);
}

const wrongIn = async (run: Run, { state }: CommittedEpoch): Promise<number> =>
  (await run.records<SeedTaskRecord>([state.train_pool])).filter(({ spec }) => isWrong(spec)).length;

describe('a run of the language world', () => {
  it('goes through all phases, and is the same again', async () => {
    const player = { invalid: 0.3, wrongLabels: 0.4 };
    const run = await languageRun({}, player);
    const { metrics, state } = await run.epochs(2);
    expect(metrics['env/repairs']).toBeGreaterThan(0);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.3);
    expect(metrics['rollouts/count']).toBeGreaterThan(0);
    expect(state.agent.name).not.toBe(run.prepared.state.agent.name);
    expect(state.environment.name).not.toBe(run.prepared.state.environment.name);
    expect(new Set(run.trainer.jobs.map(({ job: { kind } }) => kind))).toEqual(
      new Set(['supervised', 'grpo', 'rwr']),
    );
    expect(metrics['eval/heldout']).toBeGreaterThan(0.3);
    const named = await readFile(new URL('../../docs/artifacts.md', import.meta.url), 'utf8');
    for (const name of Object.keys(metrics).filter(
      (metric) => /repairs|label/.test(metric) && !metric.includes('/invalid/'),
    ))
      expect(named).toContain(`\`${name}\``);
    const again = await languageRun(samePath(run), player);
    await again.epochs(2);
    expect(await again.ledger()).toBe(await run.ledger());
  }, 120_000);

  it('tells the simulator what it wrote too often', async () => {
    const run = await languageRun({}, { questions: 1 });
    await run.epochs(1);
    await run.activities.generateTasks({
      run: run.plan.run,
      epoch: 2,
      state: (await run.lines()).at(-1)!.outputs.state,
      shard: 0,
      shards: 1,
    });
    const [first, last] = [run.requestsTo('environment')[0]!, run.requestsTo('environment').at(-1)!];
    expect(first.prompt[0]).not.toContain('Written too often');
    expect(last.prompt[0]).toMatch(
      /Written too often already, do not write these again:\n- exact: which city is the capital of \(1\d times\)\n/,
    );
    expect(last.prompt[0]).toMatch(/- success by family: exact \d+ %\n/);
  });
});

it.each([
  ['wrong answer', 400],
  ['cut off', 4],
])(
  'tells the simulator why tasks were never solved, by what most of their answers lack: %s',
  async (why, maxTokens) => {
    const run = await languageRun(
      { 'agent.sampling.maxTokens': maxTokens },
      { questions: 0, success: () => 0 },
    );
    await run.epochs(2);
    const scores = await run.records<ScoreRecord>([(await run.lines())[1]!.outputs.scores!]);
    expect(new Set(scores.filter(({ attempts }) => attempts > 0).map(({ failure }) => failure))).toEqual(
      new Set([why]),
    );
    expect(run.requestsTo('environment').at(-1)!.prompt[0]).toMatch(
      new RegExp(`- never solved: execution_\\w+ of difficulty \\d+ \\(${why}\\), `),
    );
  },
);

/** The base model of another run: its path is part of the experiment. */
const samePath = ({ trainer }: Run): Record<string, unknown> => {
  const { model } = trainer.jobs[0]!.job as { model: { path?: string } };
  return { 'agent.model.path': model.path, 'environment.model.path': model.path };
};

describe('labels that the simulator wrote', () => {
  const wrong = { wrongLabels: 0.5, questions: 0.8 };

  it('are put to the vote of the initial agent: wrong ones are no tasks', async () => {
    const run = await languageRun({}, wrong);
    const last = await run.epochs(2);
    const tasks = await run.tasks(2);
    const unconfirmed = tasks.filter(({ invalid_reason }) => invalid_reason === 'label_unconfirmed');
    expect(unconfirmed.length).toBeGreaterThan(2);
    expect(
      unconfirmed.every(({ sampled, valid, spec }) => isWrong(sampled!.text) && !valid && spec === null),
    ).toBe(true);
    expect(tasks.some(({ spec }) => spec !== null && isWrong(spec))).toBe(false);
    expect(await wrongIn(run, last)).toBe(0);
    const attempted = new Set((await run.traces(2)).map(({ task_id }) => task_id));
    expect(unconfirmed.some(({ id }) => attempted.has(id))).toBe(false);
    expect(
      (await run.records<EnvironmentPoolRecord>([last.state.environment_pool])).some(({ signature }) =>
        isWrong(signature),
      ),
    ).toBe(false);
    const questions = tasks.filter(({ sampled }) => sampled!.text.includes('Quiz'));
    expect(last.metrics).toMatchObject({
      'env/label_votes': 5 * questions.length,
      'env/labels_unconfirmed': unconfirmed.length,
      'env/invalid/label_unconfirmed': unconfirmed.length,
    });
    expect(last.metrics['env/labels_disputed']).toBe(
      unconfirmed.filter(({ label }) => label!.disputed).length,
    );
    expect(last.metrics['env/labels_disputed']).toBeGreaterThan(0);
    // Attempts come in fours, or one by one.
    const votes = run.server.requests.filter(({ n }) => n === 5);
    expect(votes.length).toBeGreaterThan(4);
    expect(new Set(votes.map(({ model }) => model))).toEqual(
      new Set([run.prepared.state.initial_agent.name]),
    );
    expect(last.state.agent.name).not.toBe(run.prepared.state.initial_agent.name);
    expect(votes.every(({ prompt }) => prompt.length <= 4)).toBe(true);
  });

  it('enter the pools where nobody votes', async () => {
    const run = await languageRun({ 'world.vote': null }, wrong);
    const last = await run.epochs(2);
    expect(await wrongIn(run, last)).toBeGreaterThan(4);
    expect(last.metrics['env/labels_unconfirmed']).toBeUndefined();
  });

  it('do not enter a data set that is written once', async () => {
    const run = await languageRun({ arm: { type: 'static' }, 'environment.training': undefined }, wrong);
    const pool = await run.records<SeedTaskRecord>([run.prepared.state.task_pool!]);
    expect(pool.length).toBeGreaterThan(6);
    expect(new Set(pool.map(({ spec }) => languageTask(spec).evaluation.kind))).toEqual(
      new Set(['execution']),
    );
    expect(run.prepared.metrics['pool/dropped/label_unconfirmed']).toBeGreaterThan(5);
  });

  it('do not decide between simulators', async () => {
    const run = await languageRun({}, { ...wrong, questions: 0.5 });
    const file = await run.activities.crossTasks({
      run: run.plan.run,
      epoch: 1,
      state: run.prepared.state,
      tasks: 24,
    });
    const kinds = (await run.records<SeedTaskRecord>([file])).map(
      ({ spec }) => languageTask(spec).evaluation.kind,
    );
    expect(kinds.length).toBeGreaterThan(6);
    expect(new Set(kinds)).toEqual(new Set(['execution']));
  });

  it('are asked for by the same votes in every attempt', async () => {
    const run = await languageRun({ 'durability.shards': 1 }, wrong);
    const input = { run: run.plan.run, epoch: 1, state: run.prepared.state, shard: 0, shards: 1 };
    // The simulator is asked the three prompts of a first batch, and the server fails when the votes are.
    const prepared = run.server.requests.length;
    run.server.nextFaults.push(undefined, undefined, undefined, 'server error');
    await expect(run.activities.generateTasks(input)).rejects.toThrow('500');
    const written = run.server.requests.slice(prepared, prepared + 3);
    const failed = run.server.requests.slice(prepared + 3);
    expect(failed.length).toBeGreaterThan(0);
    for (const vote of failed)
      expect(vote).toMatchObject({ n: 5, model: run.prepared.state.initial_agent.name });
    const before = run.server.requests.length;
    await run.activities.generateTasks(input);
    const again = run.server.requests.slice(before);
    for (const vote of failed) expect(again).toContainEqual(vote);
    for (const prompt of written) expect(again).not.toContainEqual(prompt);
  });
});

describe('a text that is no task', () => {
  const often = { invalid: 0.5, questions: 0 };

  it('is asked for again, with the reason, and the record keeps what was written at last', async () => {
    const run = await languageRun({ 'world.repairs': 2 }, often);
    const { metrics } = await run.epochs(1);
    const tasks = await run.tasks(1);
    expect(tasks.every(({ valid, repairs }) => valid && repairs! <= 1)).toBe(true);
    const repaired = tasks.filter(({ repairs }) => repairs === 1);
    expect(repaired.length).toBeGreaterThan(3);
    for (const { context, sampled } of repaired) {
      expect(context).toMatch(/That is no task: (not json|wrong schema)\. /);
      expect(String.fromCharCode(...sampled!.prompt_token_ids)).toBe(context);
      expect(
        run.server.requests.some(
          ({ prompt, n, seed }) =>
            n === 1 && seed === sampled!.seed && (prompt as string[]).includes(context),
        ),
      ).toBe(true);
    }
    expect(metrics['env/repairs']).toBe(repaired.length);
    expect(metrics['env/valid_fraction']).toBe(1);
  });

  it('stays none where the simulator never mends it, after as many requests as allowed', async () => {
    const run = await languageRun({ 'world.repairs': 2 }, { ...often, invalid: 1, mends: false });
    const { metrics } = await run.epochs(1);
    expect(metrics).toMatchObject({ 'env/repairs': 32, 'env/valid_fraction': 0, 'rollouts/count': 0 });
    expect(metrics['env/invalid/not_json']! + metrics['env/invalid/wrong_schema']!).toBe(16);
  });

  it('costs tokens, as votes do: the estimate says how many at most', () => {
    const tokens = (world: object): number => {
      const experiment = parseExperiment(
        withFields(experimentFile('best-of-n-api'), { epochs: 1, world: { type: 'language', ...world } }),
      );
      return estimateResources(experiment, createLanguage(experiment.world as LanguageSettings)).tokens;
    };
    // 4 prompts x 2 variations x 4 candidates, of 1024 tokens each time.
    const [written, each] = [32, 1024];
    expect(tokens({ repairs: 2, vote: null }) - tokens({ repairs: 0, vote: null })).toBe(written * 2 * each);
    expect(tokens({ repairs: 0 }) - tokens({ repairs: 0, vote: null })).toBe(written * 5 * each);
  });

  it('is not asked for again where the world says so', async () => {
    const run = await languageRun({ 'world.repairs': 0 }, often);
    const { metrics } = await run.epochs(1);
    expect(run.requestsTo('environment').every(({ n }) => n === 4)).toBe(true);
    expect(metrics['env/repairs']).toBeUndefined();
    expect(metrics['env/valid_fraction']).toBeLessThan(0.9);
  });

  it('is not written by a simulator that the server holds to the schema, which alone is held', async () => {
    const run = await languageRun(
      { 'world.vote': null, 'serving.structuredOutput': 'json_schema' },
      { ...often, questions: 0.5 },
    );
    const { metrics } = await run.epochs(1);
    expect(metrics).toMatchObject({ 'env/repairs': 0, 'env/valid_fraction': 1 });
    expect(run.requestsTo('environment')[0]!.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'task', schema: { type: 'object', anyOf: { length: 5 } } },
    });
    expect(run.requestsTo('environment').every(({ response_format }) => response_format !== undefined)).toBe(
      true,
    );
    expect(run.requestsTo('agent').some(({ response_format }) => response_format !== undefined)).toBe(false);
    const plain = await languageRun({}, often);
    await plain.epochs(1);
    expect(plain.requestsTo('environment').some(({ response_format }) => response_format !== undefined)).toBe(
      false,
    );
  });
});

describe('the arm `best-of-n`', () => {
  const shown = (prompt: string): string[] =>
    [...prompt.matchAll(/^- reward \d\.\d\d: (.+)$/gm)].map(([, spec]) => spec!);

  it('shows the simulator tasks of D_env, and never trains it', async () => {
    const run = await languageRun({ ...bestOfN, 'environment.initialShare': 0.25 }, { questions: 0 });
    const first = await run.epochs(1);
    expect(run.requestsTo('environment').every(({ n }) => n === 12)).toBe(true);
    expect(run.requestsTo('environment').flatMap(({ prompt }) => shown(String(prompt)))).toEqual([]);
    const pool = new Map(
      (await run.records<EnvironmentPoolRecord>([first.state.environment_pool])).map(
        ({ signature, env_reward }) => [signature, env_reward],
      ),
    );
    const before = run.server.requests.length;
    const last = await plainEpoch(run.activities, run.plan, first);
    const tasks = await run.tasks(2);
    for (const { context, simulator } of tasks)
      expect(shown(context)).toHaveLength(simulator === 'current' ? 2 : 0);
    expect(new Set(tasks.map(({ simulator }) => simulator))).toEqual(new Set(['current', 'initial']));
    const prompts = run.server.requests
      .slice(before)
      .filter(({ model }) => model.startsWith('environment'))
      .flatMap(({ prompt }) => prompt as string[]);
    expect(prompts).toHaveLength(4);
    for (const prompt of prompts) for (const spec of shown(prompt)) expect(pool.has(spec)).toBe(true);
    expect(new Set(prompts.map((prompt) => shown(prompt).join('\n'))).size).toBeGreaterThan(2);
    expect(tasks).toHaveLength(16);
    expect(last.metrics['rollouts/count']).toBe(64);
    expect(last.state.environment).toEqual(run.prepared.state.environment);
    expect(run.trainer.jobs.some(({ job: { kind } }) => kind === 'rwr')).toBe(false);
    expect(run.plan.settings.arm).toBe('best-of-n');
  });

  it('rolls the one of each n out that promises the largest R_env', async () => {
    const far = async (fields: Record<string, unknown>) => {
      const run = await languageRun(
        { ...fields, 'environment.variationsPerPrompt': 2, 'guards.frozenSamples': 0 },
        { questions: 0, success: (difficulty) => (1 - Math.sign(difficulty - 3)) / 2 },
      );
      await run.epochs(3);
      // Nothing is known in the first epoch.
      const distances = [...(await run.tasks(2)), ...(await run.tasks(3))].map(({ difficulty }) =>
        Math.abs(difficulty - 3),
      );
      return distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
    };
    expect(
      await far({ ...bestOfN, arm: { type: 'best-of-n', candidates: 6 }, 'agent.training': null }),
    ).toBeLessThan(0.75);
    expect(
      await far({ arm: { type: 'random' }, 'environment.training': undefined, 'agent.training': null }),
    ).toBeGreaterThan(1.1);
  });

  it('is refused in a world that cannot show exemplars', async () => {
    const ports = plainDependencies(await temporaryFolder(), 'http://127.0.0.1:1/v1', new FakeTrainer());
    const file = withFields(exampleFile, { arm: { type: 'best-of-n' } });
    await expect(begin(createActivities(ports), 'x', file)).rejects.toThrow(
      'experiment: arm.type: got "best-of-n"; the world "toolbox" cannot show its simulator exemplars',
    );
  });

  it('runs on a server that has chat completions only', async () => {
    const run = await languageRun(
      {
        ...bestOfN,
        'agent.training': null,
        serving: { ...api, api: 'chat', structuredOutput: 'json_schema' },
      },
      { invalid: 0.5 },
    );
    const { metrics, state } = await run.epochs(2);
    expect(run.server.requests).toEqual([]);
    expect(run.server.chats.length).toBeGreaterThan(200);
    expect(
      run.server.chats.every(
        ({ model, response_format }) => (model === 'environment') === (response_format !== undefined),
      ),
    ).toBe(true);
    expect(new Set(run.server.chats.map(({ seed }) => seed)).size).toBeGreaterThan(200);
    expect(metrics['env/success_rate']).toBeGreaterThan(0.3);
    expect(run.trainer.jobs).toEqual([]);
    expect(state.agent).toEqual({ name: 'agent', checkpoint: null, trainer_state: null });
  });
});

describe('questions of a benchmark', () => {
  it('are no tasks: counted by their reason, and in no pool', async () => {
    const run = await languageRun(
      { 'world.repairs': 1 },
      {
        questions: 0.5,
        preamble: 'In what year was the company that was founded as Sound of Music added to the S&P 500? ',
      },
    );
    const { metrics, state } = await run.epochs(2);
    const contaminated = (await run.tasks(2)).filter(
      ({ invalid_reason }) => invalid_reason === 'contaminated',
    );
    expect(contaminated.length).toBeGreaterThan(0);
    expect(contaminated.every(({ valid, spec, repairs }) => !valid && spec === null && repairs === 1)).toBe(
      true,
    );
    expect(metrics['env/invalid/contaminated']).toBe(contaminated.length);
    const trained = await run.records<SeedTaskRecord>([state.train_pool]);
    const judged = await run.records<EnvironmentPoolRecord>([state.environment_pool]);
    expect(trained.length).toBeGreaterThan(0);
    for (const text of [...trained.map(({ spec }) => spec), ...judged.map(({ signature }) => signature)])
      expect(text).not.toContain('Sound of Music');
  });
});

describe('tasks of one’s own', () => {
  const question = (index: number, rest: object = {}): string =>
    JSON.stringify({
      prompt: `Quiz ${index}: which city is the capital of France?`,
      tools: [],
      evaluation: { kind: 'exact', answers: ['Paris'] },
      ...rest,
    });

  it('are split by a fixed seed, each once, and their labels believed', async () => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    const lines = Array.from({ length: 12 }, (_, index) => question(index));
    await writeFile(path, `${lines.join('\n')}\n\n${lines[0]!}\n`);
    const sha256 = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    const run = await languageRun({ 'world.tasksFile': { path, sha256 } });
    const [base, heldOut] = await Promise.all(
      [run.prepared.state.base_tasks, run.prepared.state.held_out].map((ref) =>
        run.records<SeedTaskRecord>([ref]),
      ),
    );
    expect([base!.length, heldOut!.length]).toEqual([9, 3]);
    expect(new Set([...base!, ...heldOut!].map(({ spec }) => languageTask(spec).prompt))).toEqual(
      new Set(lines.map((line) => (JSON.parse(line) as { prompt: string }).prompt)),
    );
    const otherSeed = await languageRun({ seed: 5, 'world.tasksFile': { path } });
    expect(
      (await otherSeed.records<SeedTaskRecord>([otherSeed.prepared.state.held_out])).map(({ spec }) => spec),
    ).toEqual(heldOut!.map(({ spec }) => spec));
    expect((await run.epochs(2)).metrics['eval/heldout/exact']).toBeGreaterThan(0);
  });

  it('are told of to the simulator by the band that its prompt names', async () => {
    const inBand = async (band: [number, number]) => {
      const run = await languageRun({ 'world.band': band }, {}, `band-${band[0]}`);
      const { state } = await run.epochs(1);
      return (await run.json<HistoryRecord>(state.history)).agent.inBandShare;
    };
    expect(await inBand([0, 1])).toBe(1);
    expect(await inBand([0.4, 0.6])).toBeLessThan(1);
  });

  it('whose rewards are graded count as solved from `similarAt` on', async () => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    const task = (index: number): string =>
      JSON.stringify({
        prompt: `Name some colours, please (${index}).`,
        tools: [],
        evaluation: { kind: 'reference', answer: 'red green blue' },
      });
    await writeFile(path, Array.from({ length: 8 }, (_, index) => task(index)).join('\n'));
    const solving = async (similarAt: number) => {
      const run = await languageRun(
        {
          'world.tasksFile': { path },
          'world.similarAt': similarAt,
          'pools.train.mix': { base: 1, history: 0, new: 1 },
          'evaluation.every': 1,
        },
        { questions: 0, otherwise: 'Answer: red green' },
      );
      const { metrics, epoch, state } = await run.epochs(1);
      const input = { run: run.plan.run, epoch, state };
      const attempted = await run.activities.probeAttempts({
        ...input,
        tasks: state.base_tasks,
        attempts: 8,
      });
      const probed = await run.records<ProbeOutcomeRecord>([attempted.outcomes]);
      await run.activities.measureGradients({ ...input, ...attempted });
      const advantages = run.trainer.jobs.at(-1)!.records.map(({ advantage }) => advantage);
      const scores = (await run.records<ScoreRecord>([(await run.lines()).at(-1)!.outputs.scores!])).filter(
        ({ kind }) => kind === 'reference',
      );
      const rewards = (
        await run.records<RewardRecord>([(await run.lines()).at(-1)!.outputs.rewards!])
      ).filter(({ answer }) => answer === 'Answer: red green');
      expect(rewards.length).toBeGreaterThan(8);
      expect(rewards.every(({ reward }) => Math.abs(reward - 0.8) < 1e-9)).toBe(true);
      return {
        heldOut: metrics['eval/heldout/reference'],
        rates: new Set(scores.map(({ success_rate }) => success_rate)),
        probed: new Set(probed.flatMap(({ solved }) => solved)),
        advantages: new Set(advantages),
        correctLength: metrics['completions/correct_mean_length'],
      };
    };
    const { correctLength, ...solved } = await solving(0.8);
    const { correctLength: ofOthers, ...unsolved } = await solving(0.81);
    expect(solved).toEqual({
      heldOut: 1,
      rates: new Set([1]),
      probed: new Set([1]),
      advantages: new Set([0]),
    });
    expect(unsolved).toEqual({
      heldOut: 0,
      rates: new Set([0]),
      probed: new Set([0]),
      advantages: new Set([0]),
    });
    expect(correctLength).not.toBe(ofOthers);
  });

  it('are refused where the file is not what it should be', async () => {
    const path = join(await temporaryFolder(), 'tasks.jsonl');
    const refused = async (text: string, more: object = {}) => {
      await writeFile(path, text);
      return expect(languageRun({ 'world.tasksFile': { path, ...more } })).rejects;
    };
    await (
      await refused(`${question(1)}\n${question(2, { evaluation: { kind: 'exact', answers: [] } })}`)
    ).toThrow(/^experiment: world\.tasksFile\.path: .*tasks\.jsonl line 2: it is no task \(wrong_schema\)$/);
    const wrong = Array.from({ length: 12 }, (_, index) => `{"prompt": ${index}}`);
    const everyProblem = await refused([question(1), ...wrong].join('\n'));
    await everyProblem.toThrow(
      /tasks\.jsonl line 2: it is no task .*(\nline \d+: it is no task .*){9}\nand 2 more lines$/,
    );
    await (
      await refused(question(1))
    ).toThrow('has 1 distinct tasks; expected at least 2, one to vary and one held out');
    await (
      await refused(question(1), { sha256: 'a'.repeat(64) })
    ).toThrow(/world\.tasksFile\.sha256: got a{64}; .*tasks\.jsonl has another$/);
    await (
      await refused('', { path: `${path}x` })
    ).toThrow(/world\.tasksFile\.path: got ".*tasks\.jsonlx"; it does not exist$/);
  });
});
