import { z } from 'zod';
import { BoundedMap } from '../async/bounded-map.ts';
import type { Experiment } from '../config/experiment.ts';
import { parseExperiment } from '../config/parse-experiment.ts';
import { readEpochIndex, writeEpochIndex } from '../runs/epoch-index.ts';
import type { EpochIndex, TaskEntry } from '../runs/epoch-index.ts';
import type { ViewedRun } from '../report/run-view.ts';
import type { EpochRow } from '../report/run-data.ts';
import type { RunFolder } from '../runs/run-folder.ts';
import { InvalidArtifact } from '../store/errors.ts';
import { experimentInEffect } from '../runs/settings-in-effect.ts';
import type { TaskLine, TasksPage } from './api.ts';

const PAGE_TASKS = 50;
/** Indexes in memory: one of 12,500 tasks takes about 20 MB. */
const MAX_INDEXES = 4;

/** Filters of a table of tasks, as they stand in an address. */
export const taskQuerySchema = z.object({
  kind: z.string().max(200).default(''),
  valid: z.enum(['', 'valid', 'invalid']).default(''),
  // Addresses of an earlier version say `filtered`.
  kept: z.enum(['', 'kept', 'left out', 'filtered']).default(''),
  agent: z.enum(['', 'kept', 'left out']).default(''),
  reason: z.string().max(1000).default(''),
  low: z.coerce.number().min(0).max(1).default(0),
  high: z.coerce.number().min(0).max(1).default(1),
  text: z.string().max(200).default(''),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});
export type TaskQuery = z.infer<typeof taskQuerySchema>;

type IndexState = { index: EpochIndex } | { isPending: true } | { problem: string };

/** The tasks of epochs by their indexes. An index that is missing is made in the background, not in a request. */
export class EpochTasks {
  readonly #indexes = new BoundedMap<string, EpochIndex>(MAX_INDEXES);
  readonly #making = new Map<string, Promise<void>>();
  readonly #problems = new Map<string, Error>();

  async page(
    folder: RunFolder,
    viewed: ViewedRun,
    epoch: number,
    query: TaskQuery,
  ): Promise<TasksPage | undefined> {
    const row = viewed.run.rows.find((candidate) => candidate.epoch === epoch);
    if (row === undefined) return undefined;
    const state = await this.state(folder, viewed, row);
    const settings = await settingsOf(folder, viewed, epoch);
    const empty = {
      epoch,
      problem: '',
      total: row.outputs.tasks?.count ?? 0,
      matching: 0,
      pageSize: PAGE_TASKS,
      kinds: [],
      reasons: [],
      lastEpoch: viewed.run.rows.at(-1)!.epoch,
      rule: ruleText(settings),
      isPerBatch: settings?.difficulty.per === 'batch',
      isTrained: {
        agent: settings?.agent.training !== null,
        simulator: settings?.environment.training !== null,
      },
    };
    if ('isPending' in state) return { ...empty, index: 'pending', tasks: [] };
    if ('problem' in state) return { ...empty, index: 'missing', problem: state.problem, tasks: [] };
    const { tasks } = state.index;
    const matching = tasks.flatMap((task, index) => (matches(task, query) ? [lineOf(task, index)] : []));
    return {
      ...empty,
      rule: [empty.rule, keptText(tasks)].filter((text) => text !== '').join(' '),
      index: 'ready',
      total: tasks.length,
      matching: matching.length,
      kinds: distinct(tasks.map(({ kind }) => kind)),
      reasons: distinct(tasks.map(({ reason }) => reason)),
      tasks: matching.slice(query.offset, query.offset + PAGE_TASKS),
    };
  }

  /** The index of an epoch, or what is in its place. */
  async state(folder: RunFolder, { store }: ViewedRun, row: EpochRow): Promise<IndexState> {
    const line = row.line ?? '';
    const key = `${folder.id} ${row.epoch} ${line}`;
    const index = this.#indexes.get(key) ?? (await readEpochIndex(folder.path, { epoch: row.epoch, line }));
    if (index !== undefined) {
      this.#indexes.set(key, index);
      return { index };
    }
    const problem = this.#problems.get(key);
    if (problem !== undefined) {
      // Damage stays; anything else may pass, and is tried again at the next look.
      if (!(problem instanceof InvalidArtifact)) this.#problems.delete(key);
      return { problem: problem.message };
    }
    if (!this.#making.has(key)) {
      const made = writeEpochIndex(folder.path, { epoch: row.epoch, line, outputs: row.outputs }, store)
        .catch((error: unknown) => void this.#problems.set(key, error as Error))
        .finally(() => this.#making.delete(key));
      this.#making.set(key, made);
    }
    return { isPending: true };
  }
}

/** The settings that were in effect in an epoch; null if they cannot be read. */
const settingsOf = async (
  folder: RunFolder,
  { run: { experimentFile } }: ViewedRun,
  epoch: number,
): Promise<Experiment | null> => {
  try {
    return await experimentInEffect(folder, parseExperiment(experimentFile?.experiment), epoch);
  } catch {
    return null;
  }
};

/** How many tasks the simulator learns from; empty before anything is decided. */
function keptText(tasks: readonly TaskEntry[]): string {
  const newTasks = tasks.filter(({ keptForSimulator }) => keptForSimulator !== null);
  if (newTasks.length === 0) return '';
  const kept = newTasks.filter(({ keptForSimulator }) => keptForSimulator === true).length;
  return `${kept} of ${newTasks.length} new tasks are kept for the simulator.`;
}

/** The rule of the difficulty filter in words. */
export function ruleText(experiment: Pick<Experiment, 'filter' | 'difficulty'> | null): string {
  if (experiment === null) return '';
  const { filter, difficulty } = experiment;
  if (filter.type === 'off') return 'The difficulty filter is off: every valid task with rollouts is kept.';
  const roles = filter.appliesTo.map((role) => (role === 'agent' ? 'agent’s' : 'simulator’s'));
  const kept = `The difficulty filter keeps for the ${roles.join(' and the ')} update`;
  const target = `α = ${difficulty.alpha}${difficulty.per === 'batch' ? ', by p̂ of its batch of variations' : ''}`;
  switch (filter.type) {
    case 'threshold':
      return `${kept} what is solved within ${filter.kMin} of ${target}.`;
    case 'quantile':
      return `${kept} the share of ${filter.keep} that is nearest to ${target}.`;
    case 'topK':
      return `${kept} the ${filter.k} tasks that are nearest to ${target}.`;
  }
}

function matches(task: TaskEntry, { kind, valid, kept, agent, reason, low, high, text }: TaskQuery): boolean {
  const needle = text.trim().toLowerCase();
  return (
    (kind === '' || task.kind === kind) &&
    (valid === '' || task.valid === (valid === 'valid')) &&
    (kept === '' || task.keptForSimulator === (kept === 'kept')) &&
    (agent === '' || task.keptForAgent === (agent === 'kept')) &&
    (reason === '' || task.reason === reason) &&
    ((low <= 0 && high >= 1) ||
      (task.rate !== null && task.rate >= low - 1e-9 && task.rate <= high + 1e-9)) &&
    (needle === '' || `${task.id}\n${task.excerpt}\n${task.reason}`.toLowerCase().includes(needle))
  );
}

const lineOf = (task: TaskEntry, index: number): TaskLine => ({
  id: task.id,
  index,
  kind: task.kind,
  difficulty: task.difficulty,
  source: task.source,
  excerpt: task.excerpt,
  valid: task.valid,
  reason: task.reason,
  attempts: task.attempts,
  successes: task.successes,
  rate: task.rate,
  targetRate: task.targetRate,
  keptForAgent: task.keptForAgent,
  keptForSimulator: task.keptForSimulator,
});

const MAX_CHOICES = 100;
const distinct = (values: readonly string[]): string[] =>
  [...new Set(values)]
    .filter((value) => value !== '')
    .sort()
    .slice(0, MAX_CHOICES);
