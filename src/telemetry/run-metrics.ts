import { stat } from 'node:fs/promises';
import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { parseExperiment } from '../config/parse-experiment.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import { experimentInEffect } from '../runs/settings-in-effect.ts';
import type { Metrics as EpochMetrics } from '../types/run-state.ts';

/** A run whose workflow runs, as Temporal lists it. */
export interface RunningWorkflow {
  id: string;
  startedAt: Date;
  isPaused: boolean;
}

export interface RunSource {
  /** @throws if Temporal does not answer */
  listRunning: () => Promise<RunningWorkflow[]>;
  runFolder: (id: string) => RunFolder;
}

/** Runs shown at most, the newest first: each is a label. */
export const MAX_SHOWN_RUNS = 200;
/** Temporal is asked, and files are read, no more often. */
const MIN_AGE_MS = 10_000;

/**
 * Gauges of the runs that are under way, read from their files at a scrape: any worker that shares the folder
 * says the same, also one that has just started. A run that has ended is left out from then on.
 */
export class RunMetrics {
  readonly #source: RunSource;
  readonly #gauges: ReturnType<typeof createGauges>;
  readonly #seen = new Map<string, SeenRun>();
  #running: RunningWorkflow[] = [];
  #refreshedAt = -Infinity;
  #refreshing: Promise<void> | undefined;

  constructor(registry: Registry, source: RunSource) {
    this.#source = source;
    this.#gauges = createGauges(registry);
  }

  /** Reads what has changed since; while Temporal does not answer, the runs are those of its last answer. */
  refresh(): Promise<void> {
    if (Date.now() - this.#refreshedAt < MIN_AGE_MS) return Promise.resolve();
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
      this.#refreshedAt = Date.now();
    });
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    this.#running = await this.#source.listRunning().catch(() => this.#running);
    const ids = new Set(this.#running.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    for (const { id } of this.#running) {
      // A run that is just being prepared has no readable file yet.
      const run = await this.#readRun(id).catch(() => undefined);
      if (run !== undefined) this.#seen.set(id, run);
    }
    for (const gauge of Object.values(this.#gauges)) gauge.reset();
    for (const workflow of this.#running) this.#show(workflow, this.#seen.get(workflow.id));
  }

  async #readRun(id: string): Promise<SeenRun | undefined> {
    const folder = this.#source.runFolder(id);
    const version = await versionOf(folder);
    const seen = this.#seen.get(id);
    if (seen?.version === version) return seen;
    const stored = await folder.readExperiment();
    if (stored === undefined) return undefined;
    const last = await folder.lastMetrics();
    const epoch = last?.epoch ?? null;
    const experiment = await experimentInEffect(
      folder,
      parseExperiment(stored.experiment),
      (epoch ?? -1) + 1,
    );
    return {
      version,
      epoch,
      committedAt: typeof last?.at === 'string' ? Date.parse(last.at) || 0 : 0,
      metrics: last?.metrics ?? {},
      epochs: experiment.epochs,
      klCaps: {
        agent: experiment.agent.training?.maxKl ?? null,
        environment: experiment.environment.training?.maxKl ?? null,
      },
    };
  }

  #show({ id: run, isPaused, startedAt }: RunningWorkflow, seen: SeenRun | undefined): void {
    const gauges = this.#gauges;
    gauges.paused.set({ run }, Number(isPaused));
    // A start counts as a sign of life, so that a run which is started again has an hour for its first commit.
    const committedAt = Math.max(startedAt.getTime(), seen?.committedAt ?? 0);
    gauges.lastCommit.set({ run }, committedAt / 1000);
    if (seen === undefined) return;
    const set = (gauge: Gauge, labels: Record<string, string>, value: number | null | undefined): void => {
      if (typeof value === 'number') gauge.set(labels, value);
    };
    const { metrics, klCaps } = seen;
    set(gauges.epoch, { run }, seen.epoch);
    set(gauges.epochs, { run }, seen.epochs);
    set(gauges.successRate, { run }, metrics['env/success_rate']);
    set(gauges.heldOut, { run }, metrics['eval/heldout']);
    set(gauges.validTasks, { run }, metrics['env/valid_fraction']);
    set(gauges.simulatorRecords, { run }, metrics['env/rwr_records']);
    set(gauges.starvedEpochs, { run }, metrics['env/starved_epochs']);
    set(gauges.tokens, { run }, metrics.num_tokens);
    set(gauges.kl, { run, policy: 'agent' }, metrics.kl);
    set(gauges.kl, { run, policy: 'environment' }, metrics['env/kl']);
    for (const [policy, cap] of Object.entries(klCaps)) set(gauges.klCap, { run, policy }, cap);
  }
}

/** What was read of a run last. */
interface SeenRun {
  version: string;
  /** The last committed; null before the first. */
  epoch: number | null;
  /** Milliseconds since 1970; 0 before the first epoch. */
  committedAt: number;
  metrics: EpochMetrics;
  epochs: number;
  klCaps: Record<'agent' | 'environment', number | null>;
}

/** Changes whenever one of the files that are read does. */
async function versionOf(run: RunFolder): Promise<string> {
  // While its bucket is away, what was read last is shown.
  await run.refresh().catch(() => undefined);
  const { metricsFile, retunesFile, experimentFile } = run;
  const files = [metricsFile, retunesFile, experimentFile];
  const states = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  return states.map((state) => `${state?.mtimeMs ?? ''} ${state?.size ?? ''}`).join(' ');
}

function createGauges(registry: Registry) {
  const gauge = (name: string, help: string, ...labels: string[]): Gauge =>
    new Gauge({ name: `genenv_run_${name}`, help, labelNames: ['run', ...labels], registers: [registry] });
  return {
    lastCommit: gauge(
      'last_commit_timestamp_seconds',
      'Unix time of the last committed epoch, or of the start of the workflow if that is later.',
    ),
    paused: gauge('paused', '1 while the run is paused on request, else 0.'),
    epoch: gauge('epoch', 'The last committed epoch; 0 is the preparation.'),
    epochs: gauge('epochs', 'Epochs after which the run ends.'),
    successRate: gauge('success_rate', 'Mean success on the new tasks of the last epoch.'),
    heldOut: gauge('heldout_success_rate', 'Success on held-out tasks, if the last epoch measured it.'),
    validTasks: gauge(
      'valid_task_ratio',
      'Share of what the simulator wrote in the last epoch that is a task.',
    ),
    simulatorRecords: gauge(
      'simulator_training_records',
      'Records that the simulator had to learn from in the last epoch.',
    ),
    starvedEpochs: gauge(
      'starved_epochs',
      'Epochs in a row without anything for the simulator to learn from, if guards.starvedAfter is set.',
    ),
    tokens: gauge('tokens', 'Tokens sampled since the run started.'),
    kl: gauge('kl', 'KL a token between a policy and its reference in the last update.', 'policy'),
    klCap: gauge('kl_cap', 'Cap of that KL in the experiment file (maxKl), if there is one.', 'policy'),
  };
}
