import { serverUses } from '../config/policy-servers.ts';
import type { Prices } from '../config/prices.ts';
import { epochWorkflowId } from '../formats/epoch-id.ts';
import { gpuHours, lacksPrompts, priceOf, sumUsage } from '../runs/costs.ts';
import type { ServerUsage, Usage } from '../runs/costs.ts';
import { workflowSettings } from '../runs/settings-in-effect.ts';
import { actionsOfRound, mostHeartbeats, planActions } from '../runs/temporal-actions.ts';
import type { WorkflowSettings } from '../types/run-state.ts';
import type { World } from '../worlds/world.ts';
import { formatCount, formatNumber } from './format.ts';
import { isRetry } from './history-view.ts';
import type { EpochRow, RunData } from './run-data.ts';

/** Phases in which model servers work, and those in which a training job does. */
const servingPhases = ['generate', 'roll out', 'cold start', 'write pool', 'gate', 'evaluate'];
const trainingPhases = ['warm up', 'train agent', 'train environment'];

/** What an epoch has used. Epoch 0 is the preparation. */
export interface EpochUsage extends Usage {
  epoch: number;
  /** The most heartbeats that can have reached Temporal. */
  heartbeats: number;
}

/**
 * What each epoch has used: actions by its plan, its rounds and the further attempts that the run's events name,
 * tokens and hours by `metrics.jsonl`. An epoch of a version that did not count prompts has the tokens that its
 * ledger has, without those of held-out evaluation. Null if the settings cannot be read.
 */
export function epochUsages(run: RunData, world: World | null): EpochUsage[] | null {
  if (run.experiment === null || world === null) return null;
  const settings = workflowSettings(run.experiment, world);
  const forkedAt = run.experiment.startFrom?.epoch ?? 0;
  const planned = planActions(settings, forkedAt).epochs;
  const firstTrained = forkedAt + 1;
  return run.rows.map((row, index) => {
    const before = run.rows[index - 1]?.metrics.num_tokens ?? 0;
    const offset = row.epoch < firstTrained ? 0 : row.epoch - forkedAt;
    const furtherRounds = (row.metrics['rollouts/rounds'] ?? 1) - 1;
    const servers = serverUsage(row);
    return {
      ...(servers && { servers }),
      epoch: row.epoch,
      actions:
        (planned[offset] ?? 0) + furtherRounds * actionsOfRound(settings) + furtherAttempts(run, row.epoch),
      tokensSampled:
        row.metrics['usage/completion_tokens'] ?? Math.max(0, (row.metrics.num_tokens ?? 0) - before),
      tokensRead: row.metrics['usage/prompt_tokens'] ?? null,
      servingHours: hoursOf(row, servingPhases),
      trainingHours: hoursOf(row, trainingPhases),
      heartbeats: heartbeatsOf(row, settings),
    };
  });
}

/** What servers apart have counted; undefined without any. */
function serverUsage({ metrics }: EpochRow): ServerUsage | undefined {
  const servers = serverUses.flatMap((use) => {
    const tokensSampled = metrics[`usage/${use}_completion_tokens`];
    const tokensRead = metrics[`usage/${use}_prompt_tokens`];
    return typeof tokensSampled !== 'number' || typeof tokensRead !== 'number'
      ? []
      : [[use, { tokensSampled, tokensRead }] as const];
  });
  return servers.length === 0 ? undefined : Object.fromEntries(servers);
}

const hoursOf = ({ time }: EpochRow, phases: readonly string[]): number =>
  phases.reduce((sum, phase) => sum + (time[phase] ?? 0), 0) / 3600;

/** Retries, each of which Temporal Cloud bills as an action. */
function furtherAttempts({ events, runId }: RunData, epoch: number): number {
  const workflow = epochWorkflowId(runId, epoch);
  return events.filter((event) => isRetry(event) && event.workflow === workflow).length;
}

function heartbeatsOf({ time }: EpochRow, { heartbeatSeconds, shards }: WorkflowSettings): number {
  const shardsOf: Record<string, number> = {
    generate: shards.generate,
    'roll out': shards.rollOut,
    evaluate: shards.evaluate,
  };
  return [...servingPhases, ...trainingPhases].reduce(
    (sum, phase) => sum + mostHeartbeats(time[phase] ?? 0, heartbeatSeconds, shardsOf[phase] ?? 1),
    0,
  );
}

/** Rows of the table: beyond so many epochs, only their sum is shown. */
const maxRows = 200;

/** A table of what each epoch has used, and of what it costs if there are prices. */
export interface CostView {
  columns: string[];
  rows: string[][];
  notes: string[];
}

export function costView(usages: readonly EpochUsage[] | null, prices?: Prices): CostView | null {
  if (usages === null || usages.length === 0) return null;
  const total = sumUsage(usages);
  const heartbeats = usages.reduce((sum, usage) => sum + usage.heartbeats, 0);
  const shown = usages.length <= maxRows ? usages : [];
  return {
    columns: ['Epoch', ...costColumns(prices)],
    rows: [
      ...shown.map((usage) => [String(usage.epoch), ...costCells(usage, prices)]),
      ['all', ...costCells(total, prices)],
    ],
    notes: [
      'Actions are what Temporal Cloud bills: those that the plan of an epoch needs, and its further attempts. ' +
        `At most ${formatCount(heartbeats)} heartbeats come on top, the start and end of the workflow, queries ` +
        'and outages.',
      `${tokenScope}${serverShare(total)}${unrecordedPrompts(usages)}`,
      'Hours are wall-clock time from the start of a phase to its end, with waits for a server, a queue or another ' +
        'worker.',
      prices === undefined
        ? '`genenv report --prices` adds GPU hours and their price.'
        : `Prices of ${prices.date}: ${prices.source}.`,
    ],
  };
}

/** Which tokens are counted. */
export const tokenScope =
  'Tokens are those of generation, rollouts, held-out evaluation and a data set’s texts, not those of the cold ' +
  'start, the check for forgetting, the prompts of a data set and benchmarks.';

/** Which of them are those of servers apart; empty without any. */
export const serverShare = ({ servers = {} }: Usage): string =>
  Object.entries(servers)
    .map(
      ([use, { tokensSampled, tokensRead }]) =>
        ` The ${use}’s own server has sampled ${formatCount(tokensSampled)} and read ${formatCount(tokensRead)} of them.`,
    )
    .join('');

/** What to know of epochs without prompt tokens; empty if there are none. */
export function unrecordedPrompts(usages: readonly Usage[]): string {
  const count = usages.filter(lacksPrompts).length;
  if (count === 0) return '';
  return (
    ` ${count} of ${usages.length} epochs have no record of the prompts’ tokens and of held-out evaluation: ` +
    'these are in no figure and no sum of money.'
  );
}

/** Heads of what `costCells` gives. GPUs are counted by a prices file alone: a run may have none. */
export const costColumns = (prices: Prices | undefined): string[] => [
  'Temporal actions',
  'Tokens sampled',
  'Tokens read',
  'Server hours',
  'Training hours',
  ...(prices === undefined ? [] : ['GPU hours', prices.currency]),
];

/** A usage and its price, as a table shows it. */
export function costCells(usage: Usage, prices: Prices | undefined): string[] {
  return [
    formatCount(usage.actions),
    formatCount(usage.tokensSampled),
    usage.tokensRead === null ? '–' : formatCount(usage.tokensRead),
    formatNumber(usage.servingHours),
    formatNumber(usage.trainingHours),
    ...(prices === undefined
      ? []
      : [formatNumber(gpuHours(usage, prices.gpus)), priceOf(usage, prices).total.toFixed(2)]),
  ];
}
