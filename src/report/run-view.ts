import { join } from 'node:path';
import type { Experiment } from '../config/experiment.ts';
import type { Prices } from '../config/prices.ts';
import { lastTurn } from '../runs/last-turn.ts';
import { runEnd } from '../runs/run-end.ts';
import type { RunEnd } from '../runs/run-end.ts';
import { lineageText } from '../runs/run-overview.ts';
import { ObjectStore } from '../store/object-store.ts';
import type { LoadWorld } from '../worlds/registry.ts';
import type { World } from '../worlds/world.ts';
import { cards } from './cards.ts';
import type { Card } from './cards.ts';
import { chartsOf } from './charts/charts.ts';
import type { Chart } from './charts/options.ts';
import { costView, epochUsages } from './costs.ts';
import type { CostView } from './costs.ts';
import { findings, verdict } from './findings.ts';
import { guards } from './guards.ts';
import type { Guard } from './guards.ts';
import { heldOutGrids } from './held-out.ts';
import { historyView } from './history-view.ts';
import type { HistoryView } from './history-view.ts';
import { loadRun } from './load-run.ts';
import { heldOutOf, trainingRows } from './run-data.ts';
import type { EpochRow, RunData } from './run-data.ts';
import { thinned } from './thinned-rows.ts';

/** A section of figures. */
export interface FigureSection {
  id: 'frontier' | 'held-out' | 'guards' | 'updates' | 'dropped' | 'costs';
  charts: Chart[];
}

/** What a table of epochs shows of one. */
export interface EpochLine {
  epoch: number;
  /** p̂ of its tasks, in [0, 1]. */
  success: number | null;
  heldOut: number | null;
  difficulty: number | null;
  tasks: number;
  seconds: number | null;
  notes: number;
}

/** All that a page shows of a run, as JSON: the report holds it, and the dashboard serves it. */
export interface RunView {
  runId: string;
  /** `laptop · arm genenv, preset tuned · world toolbox · …` */
  setting: string;
  state: { text: string; tone: 'good' | 'warn' | 'plain' };
  /** Committed and planned epochs; planned is null if the settings cannot be read. */
  progress: { committed: number; planned: number | null };
  /** What it was forked from, in a sentence. */
  lineage: string | null;
  /** Why it failed; null if it did not. */
  failure: string | null;
  verdict: string[];
  /** What could not be read. */
  gaps: string[];
  cards: Card[];
  guards: Guard[];
  figures: FigureSection[];
  /** Epochs that each point of the figures is the mean of. */
  epochsPerPoint: number;
  epochs: EpochLine[];
  history: HistoryView;
  costs: CostView | null;
  record: {
    experimentHash: string | null;
    experiment: unknown;
    head: string | null;
    parent: string | null;
    committed: string;
  };
}

/** A run with what its pages are made of. */
export interface ViewedRun {
  view: RunView;
  run: RunData;
  store: ObjectStore;
  world: World | null;
}

/**
 * Reads a run, finished or not. What is missing or damaged is named in `gaps`.
 * @param loadWorld loads worlds as the workers do
 * @param prices of what the epochs have used; without them only the usage is shown
 * @throws Error if there is no such run
 */
export async function viewRun({
  home,
  runId,
  loadWorld,
  prices,
}: {
  home: string;
  runId: string;
  loadWorld: LoadWorld;
  prices?: Prices | undefined;
}): Promise<ViewedRun> {
  const run = await loadRun({ home, runId });
  const store = new ObjectStore(join(home, 'store'));
  const world = await worldOf(run, loadWorld);
  const grids = await heldOutGrids(run.rows, store, run.gaps);
  const { rows, epochsPerPoint } = thinned(run.rows);
  const difficultyUnit = world?.difficultyUnit;
  const results = findings(run.rows, { hasDifficulty: difficultyUnit !== undefined });
  const charts = chartsOf(rows, grids, run.experiment, run.retunes);
  if (difficultyUnit === undefined) charts.frontier = charts.frontier.filter(({ id }) => id !== 'difficulty');
  const begun = trainingRows(run.rows).length > 0;
  const view: RunView = {
    runId,
    setting: settingText(run.experiment, world?.name ?? null),
    state: stateOf(run),
    progress: { committed: run.rows.at(-1)?.epoch ?? 0, planned: run.experiment?.epochs ?? null },
    lineage: lineageOf(run),
    failure: failureOf(run),
    verdict: verdict(results),
    gaps: run.gaps,
    cards: cards(run, results, difficultyUnit),
    guards: begun ? guards(trainingRows(run.rows), run.experiment) : [],
    figures: [
      { id: 'frontier', charts: charts.frontier },
      { id: 'held-out', charts: charts.heldOut },
      { id: 'guards', charts: begun ? charts.guards : [] },
      { id: 'updates', charts: charts.updates },
      { id: 'dropped', charts: charts.dropped },
      { id: 'costs', charts: charts.costs },
    ],
    epochsPerPoint,
    epochs: run.rows.map(epochLine),
    history: historyView(run),
    costs: costView(epochUsages(run, world), prices),
    record: recordOf(run),
  };
  return { view, run, store, world };
}

async function worldOf({ experiment, gaps }: RunData, loadWorld: LoadWorld): Promise<World | null> {
  if (experiment === null) return null;
  try {
    return await loadWorld(experiment.world);
  } catch (error) {
    gaps.push(`Tasks are shown as they are written: ${(error as Error).message}`);
    return null;
  }
}

function settingText(experiment: Experiment | null, worldName: string | null): string {
  if (experiment === null) return 'The settings could not be read.';
  const { arm, world, seed, agent, environment, name } = experiment;
  const tasks = environment.promptsPerEpoch * environment.variationsPerPrompt;
  return [
    name,
    arm.type === 'genenv' ? `arm genenv, preset ${arm.preset}` : `arm ${arm.type}`,
    `world ${world.type === 'external' ? (worldName ?? world.name) : world.type}`,
    `${tasks} new tasks × ${agent.rolloutsPerTask} rollouts an epoch`,
    `seed ${seed}`,
  ].join(' · ');
}

/** Why a run failed; null if it did not, or has been resumed since. */
export function failureOf(run: RunData): string | null {
  const turn = lastTurn(run.events);
  return turn?.outcome === 'failed' ? (turn.reason ?? 'no reason is recorded') : null;
}

/** How a run has ended, by its files; null if it has not. */
export const endOf = ({ rows, experiment, events }: RunData): RunEnd | null =>
  runEnd(
    experiment,
    { epoch: rows.at(-1)?.epoch ?? null, tokens: rows.at(-1)?.outputs.state?.tokens ?? 0 },
    lastTurn(events),
  );

/** How far a run is, by its files. */
export function stateOf(run: RunData): RunView['state'] {
  const { rows, experiment, events } = run;
  const last = rows.at(-1)?.epoch ?? 0;
  const end = endOf(run);
  if (end === 'finished') return { text: end, tone: 'good' };
  if (end !== null)
    return {
      text: `${end} after epoch ${lastTurn(events)?.epoch ?? last}`,
      tone: end === 'failed' ? 'warn' : 'plain',
    };
  return {
    text: experiment === null ? `${last} epochs` : `in progress: ${last} of ${experiment.epochs} epochs`,
    tone: 'plain',
  };
}

const epochLine = (row: EpochRow): EpochLine => ({
  epoch: row.epoch,
  success: row.metrics['env/success_rate'] ?? null,
  heldOut: heldOutOf(row),
  difficulty: row.metrics['env/difficulty'] ?? null,
  tasks: row.outputs.tasks?.count ?? 0,
  seconds: row.time.epoch ?? null,
  notes: row.notes.length,
});

function lineageOf({ forkedFrom }: RunData): string | null {
  const root = forkedFrom.at(-1);
  if (root === undefined) return null;
  return `This run was ${lineageText(forkedFrom)}; epochs are counted from the start of ${root.run}.`;
}

function recordOf({ experimentFile, head, rows, forkedFrom }: RunData): RunView['record'] {
  const [first, last] = [rows[0]?.epoch ?? 0, rows.at(-1)?.epoch ?? 0];
  const parent = forkedFrom[0];
  return {
    experimentHash: experimentFile?.sha256 ?? null,
    experiment: experimentFile?.experiment ?? null,
    head,
    parent: parent === undefined ? null : `${parent.run}, epoch ${parent.epoch}`,
    committed: rows.length === 0 ? 'nothing yet' : `epochs ${first} to ${last}`,
  };
}
