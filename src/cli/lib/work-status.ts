/** What `genenv status` shows of evaluations, comparisons and nights: what else this home works on, beside runs. */
import type { Client } from '@temporalio/client';
import { listResults } from '../../runs/list-results.ts';
import { commandLine, temporalFlags } from './command-line.ts';
import type { TemporalOptions } from './options.ts';
import { describeWorkflow, resumableStates } from './run-activity.ts';
import { plainTable } from './table.ts';
import { TEXT_COLUMNS, timeText } from './text.ts';

export type WorkKind = 'evaluation' | 'comparison' | 'night';

export interface WorkStatus {
  kind: WorkKind;
  id: string;
  /**
   * `running`, or how it ended; `interrupted` if it has not ended and no workflow runs; of a night that is closed,
   * what became of its agent.
   */
  state: string;
  /** How far it is, or what came of it, in few words. */
  progress: string;
  /** When it ended; when it was started, if it has not. ISO 8601, in UTC; null if nothing says it. */
  time: string | null;
  /** What resumes it, or shows what it came to. */
  command: string;
  problem: string | null;
  folder: string;
}

/** A workflow that runs. */
export interface RunningWorkflow {
  id: string;
  type: string;
  started: string;
}

/** A Temporal server, as statuses are read from it. */
export interface StatusServer {
  /** Null if none is reached. */
  client: Client | null;
  running: readonly RunningWorkflow[];
  /** The options that name it, for commands that are printed. */
  options: TemporalOptions;
}

/** The command that shows what runs, again and again. */
export const watchCommand = (id: string, options: TemporalOptions): string =>
  commandLine(['status', id], { '--watch': true, ...temporalFlags(options) });

const LISTED_TYPES = ['evaluation', 'rescoring', 'comparison', 'nightly'];

/** The workflows that run and are no experiments. */
export async function runningWorkflows(client: Client | null): Promise<RunningWorkflow[]> {
  if (client === null) return [];
  const types = LISTED_TYPES.map((type) => `"${type}"`).join(', ');
  const running: RunningWorkflow[] = [];
  const query = `ExecutionStatus = "Running" AND WorkflowType IN (${types})`;
  for await (const { workflowId, type, startTime } of client.workflow.list({ query }))
    running.push({ id: workflowId, type, started: startTime.toISOString() });
  return running;
}

/** The folders of results of a kind, and how one of them is described. */
export interface WorkFolders {
  /** Folder of all of them. */
  root: string;
  /** Type of their workflows. */
  type: 'evaluation' | 'comparison';
  describe: (id: string) => Promise<WorkStatus>;
}

/** The status of each evaluation or comparison that has a folder or runs, sorted by id. */
export async function workStatuses(
  { root, type, describe }: WorkFolders,
  running: readonly RunningWorkflow[],
): Promise<WorkStatus[]> {
  const workflows = running.filter((workflow) => workflow.type === type).map(({ id }) => id);
  const ids = [...new Set([...(await listResults(root)), ...workflows])].sort();
  return Promise.all(ids.map(describe));
}

/** A status of which nothing is known but where it would be; of one that cannot be read, that and what is wrong. */
export const blankStatus = (kind: WorkKind, id: string, folder: string): WorkStatus => ({
  kind,
  id,
  state: 'unreadable',
  progress: '',
  time: null,
  command: `npx genenv report ${id}`,
  problem: null,
  folder,
});

/** The state of work that has not ended by its files, and does not run: how its workflow ended, if Temporal knows. */
export async function endedState(client: Client | null, id: string): Promise<string> {
  const status = client === null ? undefined : await describeWorkflow(client, id);
  return status?.ended ?? 'interrupted';
}

const NAME_COLUMNS = 44;
const PROGRESS_COLUMNS = 33;
const titles: Readonly<Record<WorkKind, string>> = {
  evaluation: 'evaluation',
  comparison: 'comparison',
  night: 'night',
};

/**
 * A table for each kind that there is, and under each row its command, in at most 110 columns but for a long one of a
 * night.
 * @param options that name the server, for the commands
 */
export function workTables(all: readonly WorkStatus[], options: TemporalOptions): string {
  return (Object.keys(titles) as WorkKind[])
    .map((kind) => all.filter((work) => work.kind === kind))
    .filter((works) => works.length > 0)
    .map((works) => workTable(works, options))
    .join('\n\n');
}

function workTable(works: readonly WorkStatus[], options: TemporalOptions): string {
  const table = plainTable([titles[works[0]!.kind], 'state', 'progress', 'time (UTC)']);
  for (const work of works)
    table.push([cutName(work.id), work.state, cutText(work.progress, PROGRESS_COLUMNS), timeText(work.time)]);
  const [head, ...lines] = table.toString().split('\n');
  return [head, ...lines.flatMap((line, index) => [line, `  ${shortCommand(works[index]!, options)}`])].join(
    '\n',
  );
}

/** Both ends of a name, which tell evaluations of one run apart. */
const cutName = (id: string): string =>
  id.length <= NAME_COLUMNS ? id : `${id.slice(0, NAME_COLUMNS / 2 - 1)}…${id.slice(-NAME_COLUMNS / 2)}`;

const cutText = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, columns - 1).trimEnd()}…`;

/**
 * The command, or the one that prints it where it is too long for the table; of what is damaged, what is wrong. The
 * status of a night is that of its run, which says nothing of its schedule.
 */
const shortCommand = ({ kind, command, id, problem }: WorkStatus, options: TemporalOptions): string =>
  problem === null && (kind === 'night' || command.length + 2 <= TEXT_COLUMNS)
    ? command
    : commandLine(['status', id], temporalFlags(options));

const LABEL_COLUMNS = 14;

/** Everything about one of them, a line for each. */
export function workDetails({
  kind,
  id,
  state,
  progress,
  time,
  command,
  problem,
  folder,
}: WorkStatus): string {
  const details: [string, string][] = [
    [kind, id],
    ['state', state],
    ['progress', progress],
    ['time', `${timeText(time)} UTC`],
    [resumableStates.has(state) ? 'to resume' : 'to see it', command],
    ['folder', folder],
    ...(problem === null ? [] : [['problem', problem] as [string, string]]),
  ];
  return details.map(([label, value]) => label.padEnd(LABEL_COLUMNS) + value).join('\n');
}
