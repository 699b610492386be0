import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../../src/runs/ledger-entry.ts';
import { RunFolder } from '../../src/runs/run-folder.ts';
import { collectGarbage } from '../../src/runs/garbage-collection.ts';
import { verifyRun } from '../../src/runs/verify.ts';
import { ObjectStore } from '../../src/store/object-store.ts';
import { processesWith, until } from '../../test-support/processes.ts';
import type { Disturbance, Work } from './fault-class.ts';
import type { Scene } from './scene.ts';

/** What one fault may cost: both shards of a phase may have a request under way when it strikes. */
const oneFault: Work = { requests: 2, steps: 1, activities: 1 };
const computing = ['drawTasks', 'computeRewards', 'filterByDifficulty', 'updatePools'];

export interface Verdict {
  /** What does not hold; empty for a run that recovered. */
  problems: string[];
  duplicates: number;
  redone: Work;
  /** From the moment that what was disturbed was back to the next piece of work done. */
  seconds: number | null;
}

/** Whether the disturbed run ended as the one that nobody disturbed, and what it took. */
export async function judge(
  scene: Scene,
  { back, allowed, epochMayFail, specified, leavesWork }: Disturbance,
  { heartbeatMs, ofWorker }: { heartbeatMs: number; ofWorker: boolean },
): Promise<Verdict> {
  scene.jobs.stop();
  const { stack, id } = scene;
  const problems: string[] = [];
  const note = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const ledger = await stack.ledger(id);
  problems.push(...compare(ledger, stack.reference, specified));
  const [store, run] = [new ObjectStore(stack.path('store')), new RunFolder(stack.path('runs'), id)];
  const report = await verifyRun(store, run);
  for (const { file, problem } of report.problems) problems.push(`${file}: ${problem}`);
  if (leavesWork) await collectGarbage(store, [run], { keep: { last: 1_000, every: 1, best: true } });
  problems.push(
    ...scene.unexpected(),
    ...(await failedWorkflows(scene, epochMayFail ?? false)),
    ...(await leftovers(scene)),
  );

  const redone: Work = {
    requests: stack.model.repeated,
    steps: scene.jobs.repeated.length,
    activities: computedAgain(scene),
  };
  const limit = { ...oneFault, ...allowed };
  for (const kind of ['requests', 'steps', 'activities'] as const)
    note(
      redone[kind] <= limit[kind],
      `${redone[kind]} ${kind} were done again, at most ${limit[kind]} may be` +
        (kind === 'steps' ? ` (${scene.jobs.repeated.join('; ')}; ${trainingAttempts(scene)})` : ''),
    );
  const duplicates = (await repeatedRecords(scene, ledger)) + scene.jobs.twoWriters;
  note(duplicates === 0, `${duplicates} duplicates`);
  if (ofWorker) {
    const begun = scene.trail.find(({ what, at }) => what === 'begin' && at > back)?.at;
    note(
      begun === undefined || begun - back <= 2 * heartbeatMs,
      `work went on ${((begun ?? back) - back) / 1000} s after a worker was back, more than two heartbeat timeouts`,
    );
  }
  return { problems, duplicates, redone, seconds: secondsToResume(scene, back) };
}

/** An error with its causes, in a line. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) parts.push(`${at.name}: ${at.message}`);
  return parts.length === 0 ? String(error) : parts.join(' <- ');
}

function compare(ledger: string, reference: string, specified: Disturbance['specified']): string[] {
  if (specified === undefined)
    return ledger === reference
      ? []
      : [`the ledger differs from that of the undisturbed run: ${firstDifference(ledger, reference)}`];
  const problems: string[] = [];
  if (!entries(ledger).some(({ notes }) => notes.some((note) => specified.note.test(note))))
    problems.push(`no note in the ledger matches ${String(specified.note)}`);
  if (specified.sameResult && results(ledger) !== results(reference))
    problems.push(
      `more than the notes differs from the undisturbed run: ${firstDifference(results(ledger), results(reference))}`,
    );
  if (entries(ledger).length !== entries(reference).length)
    problems.push(`${entries(ledger).length} epochs instead of ${entries(reference).length}`);
  return problems;
}

const entries = (ledger: string): LedgerEntry[] =>
  ledger
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as LedgerEntry);
/** The ledger without notes, and without the hashes that chain them. */
const results = (ledger: string): string =>
  entries(ledger)
    .map((entry) => JSON.stringify({ ...entry, notes: [], previous: '' }))
    .join('\n');

function firstDifference(left: string, right: string): string {
  const [a, b] = [left.split('\n'), right.split('\n')];
  const line = a.findIndex((text, index) => text !== b[index]);
  if (line === -1) return `${a.length - 1} lines, not ${b.length - 1}`;
  const at = [...(a[line] ?? '')].findIndex((char, index) => char !== b[line]?.[index]);
  return `line ${line + 1}: ${a[line]?.slice(Math.max(0, at - 60), at + 60) ?? ''} instead of ${b[line]?.slice(Math.max(0, at - 60), at + 60) ?? 'nothing'}`;
}

/** Runs and epochs that Temporal shows as failed or timed out. */
async function failedWorkflows({ stack, id }: Scene, epochMayFail: boolean): Promise<string[]> {
  const failed: string[] = [];
  const { workflow } = stack.live.client;
  for await (const { workflowId, runId, status } of workflow.list({
    query: `WorkflowId = "${id}" OR WorkflowId STARTS_WITH "${id}/"`,
  })) {
    if (epochMayFail && workflowId !== id) continue;
    if (status.name !== 'FAILED' && status.name !== 'TIMED_OUT') continue;
    const why: unknown = await workflow
      .getHandle(workflowId, runId)
      .result()
      .catch((error: unknown) => describeError(error));
    failed.push(`${workflowId} is shown as ${status.name}: ${String(why)}`);
  }
  return failed;
}

/** Unfinished work, and training jobs that live on. */
async function leftovers({ stack, id }: Scene): Promise<string[]> {
  const work = stack.path('store', 'work', id);
  const folders = existsSync(work) ? readdirSync(work).filter((name) => !name.startsWith('.')) : [];
  // A job that has written its result takes a moment to end.
  await until(() => jobsOf(stack.live.home, work).length === 0, 10_000, 'jobs').catch(() => undefined);
  return [
    ...folders.map((name) => `unfinished work was left: ${name}`),
    ...jobsOf(stack.live.home, work).map((pid) => `process ${pid} lives on`),
  ];
}

/** Processes of jobs: they name the folder, or hold a file of it open, since log and lock are there. */
export const jobsOf = (home: string, work: string): number[] =>
  processesWith(
    (folder) =>
      readFileSync(`${folder}/cmdline`, 'utf8').includes(`genenv_trainer\0job\0${work}/`) ||
      (readFileSync(`${folder}/environ`, 'utf8').includes(`GENENV_HOME=${home}\0`) &&
        readdirSync(`${folder}/fd`).some((fd) => linkOf(`${folder}/fd/${fd}`).startsWith(`${work}/`))),
  );

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

/** Computing activities that began again although what they give was not there yet. */
function computedAgain({ trail }: Scene): number {
  const begun = trail.filter(
    ({ what, activity, isRecorded }) => what === 'begin' && computing.includes(activity) && !isRecorded,
  );
  return begun.length - new Set(begun.map(({ activity, epoch }) => `${activity} ${epoch}`)).size;
}

/** Which attempts of training activities there were, and what ended them. */
const trainingAttempts = ({ trail }: Scene): string =>
  trail
    .filter(({ activity, what }) => activity.startsWith('train') && what !== 'end')
    .map(
      ({ activity, epoch, attempt, what, message }) => `${activity} ${epoch}#${attempt} ${message ?? what}`,
    )
    .join(', ');

/** Epochs and records that are there twice. */
async function repeatedRecords({ stack, id }: Scene, ledger: string): Promise<number> {
  const lines = entries(ledger);
  const metrics = await new RunFolder(stack.path('runs'), id).metrics();
  let repeated = repeats(lines.map(({ epoch }) => epoch)) + repeats(metrics.map(({ epoch }) => epoch));
  for (const { outputs } of lines) {
    for (const files of [
      outputs.traces,
      outputs.tasks === null ? [] : [outputs.tasks],
      outputs.rewards === null ? [] : [outputs.rewards],
    ]) {
      repeated += repeats(files.flatMap(({ uri }) => idsIn(join(stack.path('store'), uri))));
    }
  }
  return repeated;
}

const idsIn = (file: string): string[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: string }).id);
const repeats = (values: readonly unknown[]): number => values.length - new Set(values).size;

function secondsToResume({ trail, stack, jobs }: Scene, back: number): number | null {
  const signs = [
    ...trail.filter(({ what }) => what === 'end').map(({ at }) => at),
    ...stack.model.answers,
    ...jobs.signs,
  ].filter((at) => at >= back);
  return signs.length === 0 ? null : (Math.min(...signs) - back) / 1000;
}
