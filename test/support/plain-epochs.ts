import { join } from 'node:path';
import { createCpuActivities, createGpuActivities, createLlmActivities } from '../../src/activities/index.ts';
import type { Attempt, Ports } from '../../src/activities/ports.ts';
import type { Committed, Plan, Sampling, Trained } from '../../src/contracts/phases.ts';
import { openAIChatServer } from '../../src/policies/chat-server.ts';
import { openAIPolicyServer } from '../../src/policies/openai-policy-server.ts';
import { ComparisonFolder } from '../../src/store/comparison-folder.ts';
import { NightlyFolder } from '../../src/store/nightly-folder.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { PhaseKeys } from '../../src/store/phase-keys.ts';
import { RunFolder } from '../../src/store/run-folder.ts';
import type { Launcher } from '../../src/training/launcher.ts';
import { worldLoader } from '../../src/worlds/load-world.ts';

/** Ports with a real store in a folder, a model server and a launcher. */
export function plainPorts(home: string, modelServer: string, launcher: Launcher, attempt: Partial<Attempt> = {}): Ports {
  const store = join(home, 'store');
  return {
    store: new ObjectStore(store),
    keys: new PhaseKeys(store),
    world: worldLoader(undefined),
    runFolder: (id) => new RunFolder(join(home, 'runs'), id),
    nightlyFolder: (name) => new NightlyFolder(join(home, 'nightly'), name),
    comparisonFolder: (id) => new ComparisonFolder(join(home, 'comparisons'), id),
    policyServer: (_, timeoutMs) => openAIPolicyServer({ baseUrl: modelServer, apiKey: undefined, timeoutMs }),
    chatServer: ({ baseUrl }, timeoutMs) => openAIChatServer({ baseUrl, apiKey: undefined, timeoutMs }),
    loadOnServer: () => Promise.resolve(),
    launcher: () => launcher,
    python: 'python3',
    devices: home,
    onShutdown: 'checkpoint',
    searchAttributes: false,
    onDamage: () => undefined,
    attempt: () => ({ signal: new AbortController().signal, heartbeat: () => undefined, workerStops: () => false, ...attempt }),
  };
}

export const createActivities = (ports: Ports) => ({ ...createLlmActivities(ports), ...createCpuActivities(ports), ...createGpuActivities(ports) });
export type Activities = ReturnType<typeof createActivities>;

/** A run up to its first epoch: what the workflow `experiment` does before its loop. */
export async function begin(does: Activities, id: string, file: unknown): Promise<{ plan: Plan; prepared: Committed }> {
  const plan = await does.parseExperiment({ id, file });
  const { run } = plan;
  const agent = await does.warmUp({ run, role: 'agent' });
  const environment = await does.warmUp({ run, role: 'environment' });
  const first = await does.prepareRun({ run, agent, environment });
  await Promise.all([agent, environment].map((policy) => does.publishPolicy({ run, policy })));
  const written = plan.settings.writesPool ? await does.writePool({ run, epoch: 0, state: first }) : undefined;
  const gated = plan.settings.gateEvery === undefined ? undefined : await does.gateAgent({ run, epoch: 0, state: first, agent });
  const state = { ...first, ...(written && { task_pool: written.pool, tokens: written.tokens }), ...(gated && { anchor: gated.anchor }) };
  const verdicts = await shards(plan.settings.shards.evaluate, (shard) => does.evaluatePolicy({ run, epoch: 0, state, agent, ...shard }));
  const outputs = { tasks: null, traces: [], rewards: null, scores: null, decisions: null, verdicts: files(verdicts) };
  return { plan, prepared: await does.commitEpoch({ run, epoch: 0, outputs, next: state, metrics: [written?.metrics, gated?.metrics].filter((some) => some !== undefined), notes: [], retried: 0, seconds: {} }) };
}

/** One epoch in a plain loop: the phases of the workflow `epoch`, in its order, without Temporal. */
export async function plainEpoch(does: Activities, { run, settings }: Plan, { epoch: last, state }: Committed): Promise<Committed> {
  const epoch = last + 1;
  const here = { run, epoch, state };
  const generated = await shards(settings.shards.generate, (shard) => does.generateTasks({ ...here, ...shard }));
  const tasks = await does.drawTasks({ ...here, generated: files(generated) });
  const rolledOut = await shards(settings.shards.rollOut, (shard) => does.rollOut({ ...here, ...shard, tasks }));
  const traces = files(rolledOut);
  const { rewards, scores, metrics: outcome } = await does.computeRewards({ ...here, tasks, traces });
  const { decisions, metrics: filtered } = await does.filterByDifficulty({ ...here, scores });
  const pools = await does.updatePools({ ...here, tasks, scores, decisions });
  const agent: Trained = settings.trains.agent ? await does.trainAgent({ ...here, traces, rewards, scores, decisions }) : { policy: state.agent, metrics: {}, note: null };
  const environment: Trained = settings.trains.environment
    ? await does.trainEnvironment({ ...here, environmentPool: pools.environmentPool, decisions })
    : { policy: state.environment, metrics: {}, note: null };
  await Promise.all([agent, environment].map(({ policy }) => does.publishPolicy({ run, policy })));
  const gates = settings.gateEvery !== undefined && (epoch % settings.gateEvery === 0 || epoch === settings.epochs);
  const gated = gates ? await does.gateAgent({ ...here, agent: agent.policy }) : undefined;
  const accepted = gated?.agent ?? agent.policy;
  const evaluates = epoch % settings.evaluateEvery === 0 || epoch === settings.epochs;
  const verdicts = evaluates ? await shards(settings.shards.evaluate, (shard) => does.evaluatePolicy({ ...here, ...shard, agent: accepted })) : [];
  return does.commitEpoch({
    run,
    epoch,
    outputs: { tasks, traces, rewards, scores, decisions, verdicts: files(verdicts) },
    next: {
      ...state,
      agent: accepted,
      ...(gated && { anchor: gated.anchor }),
      environment: environment.policy,
      history: pools.history,
      train_pool: pools.trainPool,
      environment_pool: pools.environmentPool,
      tokens: state.tokens + [...generated, ...rolledOut].reduce((sum, { tokens }) => sum + tokens, 0),
    },
    metrics: [outcome, filtered, pools.metrics, agent.metrics, environment.metrics, ...(gated ? [gated.metrics] : [])],
    notes: [agent.note, environment.note, gated?.note ?? null].filter((note) => note !== null),
    retried: 0,
    seconds: {},
  });
}

const files = (sampled: readonly Sampling[]): Sampling['file'][] => sampled.map(({ file }) => file);
const shards = <T>(count: number, run: (shard: { shard: number; shards: number }) => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, (_, shard) => run({ shard, shards: count })));
