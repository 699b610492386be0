import { createCpuActivities, createGpuActivities, createLlmActivities } from '../src/activities/index.ts';
import type { Ports } from '../src/activities/ports.ts';
import type { PolicyVersion, Run, RunState, WorkflowSettings } from '../src/contracts/phases.ts';

/** The phases of the experiment workflow called one after the other in a plain loop: what orchestration is measured against. */
export class PlainRun {
  readonly seconds: Record<string, number> = {};
  readonly #does;

  constructor(ports: Ports) {
    this.#does = { ...createCpuActivities(ports), ...createLlmActivities(ports), ...createGpuActivities(ports) };
  }

  /** @returns the state before the first epoch */
  async prepare(id: string, file: unknown): Promise<{ run: Run; settings: WorkflowSettings; state: RunState }> {
    const { run, settings } = await this.#does.parseExperiment({ id, file });
    const agent = await this.#does.warmUp({ run, role: 'agent' });
    const environment = await this.#does.warmUp({ run, role: 'environment' });
    const state = await this.#does.prepareRun({ run, agent, environment });
    await this.#publish(run, [agent, environment]);
    await this.#does.commitEpoch({ run, epoch: 0, outputs: { tasks: null, traces: [], rewards: null, scores: null, decisions: null, verdicts: [] }, next: state, metrics: [], notes: [], seconds: {} });
    return { run, settings, state };
  }

  async epoch(run: Run, { shards, trains }: WorkflowSettings, epoch: number, state: RunState): Promise<RunState> {
    const here = { run, epoch, state };
    const inShards = <T>(count: number, call: (shard: { shard: number; shards: number }) => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, (_, shard) => call({ shard, shards: count })));
    const generated = await this.#time('generate', inShards(shards.generate, (shard) => this.#does.generateTasks({ ...here, ...shard })));
    const tasks = await this.#time('draw', this.#does.drawTasks({ ...here, generated: generated.map(({ file }) => file) }));
    const rolledOut = await this.#time('roll out', inShards(shards.rollOut, (shard) => this.#does.rollOut({ ...here, ...shard, tasks })));
    const traces = rolledOut.map(({ file }) => file);
    const { rewards, scores, metrics } = await this.#time('reward', this.#does.computeRewards({ ...here, tasks, traces }));
    const { decisions } = await this.#time('filter', this.#does.filterByDifficulty({ ...here, scores }));
    const pools = await this.#time('pools', this.#does.updatePools({ ...here, tasks, scores, decisions }));
    const agent = trains.agent ? (await this.#time('train agent', this.#does.trainAgent({ ...here, traces, rewards, scores, decisions }))).policy : state.agent;
    const environment = trains.environment ? (await this.#time('train environment', this.#does.trainEnvironment({ ...here, environmentPool: pools.environmentPool, decisions }))).policy : state.environment;
    await this.#time('publish', this.#publish(run, [agent, environment]));
    const next = { ...state, agent, environment, history: pools.history, train_pool: pools.trainPool, environment_pool: pools.environmentPool };
    await this.#time('commit', this.#does.commitEpoch({ run, epoch, outputs: { tasks, traces, rewards, scores, decisions, verdicts: [] }, next, metrics: [metrics], notes: [], seconds: {} }));
    return next;
  }

  async #publish(run: Run, policies: readonly PolicyVersion[]): Promise<void> {
    await Promise.all(policies.map((policy) => this.#does.publishPolicy({ run, policy })));
  }

  async #time<T>(phase: string, work: Promise<T>): Promise<T> {
    const begun = performance.now();
    const result = await work;
    this.seconds[phase] = (this.seconds[phase] ?? 0) + (performance.now() - begun) / 1000;
    return result;
  }
}
