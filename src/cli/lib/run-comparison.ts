import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Comparison } from '../../config/comparison.ts';
import { hashOf } from '../../store/canonical-json.ts';
import type { Progress } from '../../types/activity-types.ts';
import type { ComparisonProgress } from '../../types/comparison-types.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';
import { queues } from '../../workflows/activity-proxies.ts';
import type { comparisonWorkflow } from '../../workflows/comparison.ts';
import { reportText } from '../../workflows/outage-text.ts';
import type { CliContext } from '../context.ts';
import { createLiveText } from './live-text.ts';
import type { LiveText } from './live-text.ts';
import { describeRunning, resultWhileWatching, workflowLink } from './follow.ts';
import type { Interruption } from './interruption.ts';
import { OutageLines } from './outage-lines.ts';
import { bar } from './progress-display.ts';
import { queryIfAnswered, queryProgress } from './query-progress.ts';
import type { Session } from './session.ts';
import { plainTable } from './table.ts';
import { rateText } from './text.ts';

interface Display {
  show: (progress: ComparisonProgress, runs: readonly RunProgress[]) => void;
  end: () => void;
}

interface ComparisonRequest {
  id: string;
  raw: unknown;
  comparison: Comparison;
}

/**
 * Starts a comparison or attaches to the running one, and shows its progress until it has ended.
 * @throws InvalidConfig if the id runs with another file
 */
export async function runComparison(
  session: Session,
  { id, raw, comparison }: ComparisonRequest,
  context: CliContext,
  interruption: Interruption,
): Promise<unknown> {
  const { client } = session;
  const hash = hashOf(comparison);
  const running = await describeRunning(client, id);
  const runningHash = running?.memo?.comparisonHash;
  if (runningHash !== undefined && runningHash !== hash)
    throw new InvalidConfig(
      `comparison: the id ${JSON.stringify(id)} is running with another comparison file; ` +
        'wait until it has ended, or give --id another',
    );
  const { name, arms, seeds } = comparison;
  const summary = `${name}: ${Object.keys(arms).join(', ')}; ${seeds.length} seeds`;
  const handle = await client.workflow.start<typeof comparisonWorkflow>('comparison', {
    taskQueue: queues.workflows,
    workflowId: id,
    args: [raw],
    workflowIdConflictPolicy: 'USE_EXISTING',
    workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    memo: { comparisonHash: hash },
    staticSummary: summary.slice(0, 200),
  });
  context.print(`${running === null ? 'Started' : 'Following'} ${id}${workflowLink(session, id)}`);
  return resultWhileWatching(session, { id, handle }, interruption, (stop) =>
    showProgress(client, handle, context, stop),
  );
}

/** Shows the progress of a comparison until `stop`: a table on a terminal, plain lines without one. */
async function showProgress(
  client: Client,
  handle: { query<Result>(name: string): Promise<Result> },
  { terminal, print }: CliContext,
  stop: AbortSignal,
): Promise<void> {
  const display: Display = terminal === null ? new ComparisonLines(print) : new ComparisonScreen(terminal);
  const showLatest = async (): Promise<void> => {
    const progress = await queryIfAnswered(client, () => handle.query<ComparisonProgress>('progress'));
    if (progress === undefined) return;
    // Plain lines do not show the epochs of each run.
    const ids = terminal === null ? [] : progress.running;
    const runs = await Promise.all(ids.map((id) => queryRun(client, id)));
    display.show(progress, runs);
  };
  while (!stop.aborted) {
    await showLatest();
    await sleep(1_000, undefined, { signal: stop }).catch(() => undefined);
  }
  await showLatest();
  display.end();
}

async function queryRun(client: Client, id: string): Promise<RunProgress> {
  return { id, progress: (await queryProgress(client, id)) ?? null };
}

/** What is done once the runs are finished. */
const stageTexts: Partial<Record<ComparisonProgress['status'], string>> = {
  'cross-play': 'simulators meet agents of other epochs',
  probes: 'gradient signal and ranking are probed',
  summary: 'summing up',
};

/** A comparison's progress as plain lines: one for each run that starts and one for each that ends. */
class ComparisonLines {
  readonly #print: (line: string) => void;
  /** By the workflow that waits. */
  readonly #outages = new Map<string, OutageLines>();
  #shown: Pick<ComparisonProgress, 'status' | 'done' | 'running' | 'failed'> = {
    status: 'preparing',
    done: 0,
    running: [],
    failed: [],
  };

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  show(progress: ComparisonProgress): void {
    const { status, runs, done, running, failed } = progress;
    for (const { id, reason } of failed.slice(this.#shown.failed.length))
      this.#print(`${id} did not finish: ${reason}`);
    const started = running.filter((id) => !this.#shown.running.includes(id));
    if (done !== this.#shown.done) this.#print(`${done} of ${runs} runs done`);
    if (started.length > 0) this.#print(`running ${started.join(', ')}`);
    const stageText = stageTexts[status];
    if (status !== this.#shown.status && stageText !== undefined) this.#print(stageText);
    this.#showOutages(progress.waiting);
    this.#shown = progress;
  }

  end(): void {
    // Lines need no tidying up.
  }

  #showOutages(waiting: ComparisonProgress['waiting']): void {
    const byWorkflow = new Map(waiting.map((report) => [report.workflow, report]));
    for (const [workflow, { phase }] of byWorkflow)
      if (!this.#outages.has(workflow))
        this.#outages.set(workflow, new OutageLines((line) => this.#print(`${workflow}: ${phase}; ${line}`)));
    for (const [workflow, lines] of this.#outages) lines.show(byWorkflow.get(workflow)?.outage ?? null);
  }
}

/** A run under way; `progress` is null while its worker does not answer. */
interface RunProgress {
  id: string;
  progress: Progress | null;
}

/** A comparison's progress drawn in place on a terminal. */
class ComparisonScreen {
  readonly #live: LiveText;

  constructor(terminal: NodeJS.WriteStream) {
    this.#live = createLiveText(terminal);
  }

  show(progress: ComparisonProgress, runs: readonly RunProgress[]): void {
    this.#live.show(comparisonScreen(progress, runs));
  }

  /** Leaves the last picture on the screen. */
  end(): void {
    this.#live.done();
  }
}

/** The picture: all runs together, then a row for each that is under way. */
function comparisonScreen(
  { comparison, status, runs, done, failed, waiting }: ComparisonProgress,
  running: readonly RunProgress[],
): string {
  const table = plainTable(['run', 'epoch', 'success', 'held-out', 'phase']);
  for (const { id, progress } of running)
    table.push([
      id,
      progress === null ? '–' : `${progress.epoch}/${progress.epochs}`,
      rateText(progress?.successRate),
      rateText(progress?.heldOut),
      progress?.phase ?? '',
    ]);
  return [
    '',
    `${comparison}: ${status}`,
    `runs  ${done}/${runs}  ${bar(runs === 0 ? 0 : done / runs)}`,
    ...(running.length === 0 ? [] : [table.toString()]),
    ...waiting.filter(({ workflow }) => workflow === comparison).map(reportText),
    ...failed.map(({ id, reason }) => `${id} did not finish: ${reason}`),
  ].join('\n');
}
