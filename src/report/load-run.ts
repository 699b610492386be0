import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { experimentSchema } from '../config/experiment.ts';
import type { Experiment } from '../config/experiment.ts';
import { benchmarkScores } from '../runs/benchmark-scores.ts';
import { evaluationOfEpoch, isEvaluationDue } from '../evaluation/evaluation-id.ts';
import { EvaluationFolder } from '../runs/result-folders.ts';
import { eventSchema, metricsLineSchema, metricsSchema } from '../runs/file-schemas.ts';
import type { MetricsLine, RunEvent } from '../runs/file-schemas.ts';
import { RunFolder } from '../runs/run-folder.ts';
import type { Retune } from '../runs/run-folder.ts';
import { lineage } from '../runs/run-overview.ts';
import { experimentInEffect } from '../runs/settings-in-effect.ts';
import { sha256 } from '../store/canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing } from '../store/errors.ts';
import { requirePlainFolder } from '../store/plain-files.ts';
import { FileRef, FolderRef } from '../store/references.ts';
import { isObject } from '../validation/json-schema.ts';
import { readLines, unlessDamaged } from './read-lines.ts';
import { withQueueTimes } from './queue-times.ts';
import type { EpochRow, ReportEvent, RunData } from './run-data.ts';

const file = FileRef.nullish();
/** What the report shows of a line of the ledger. */
const ledgerLineSchema = z.object({
  epoch: metricsLineSchema.shape.epoch,
  metrics: metricsSchema.optional(),
  outputs: z
    .object({
      tasks: file,
      rewards: file,
      scores: file,
      decisions: file,
      traces: z.array(FileRef).optional(),
      verdicts: z.array(FileRef).optional(),
      state: z
        .object({
          initial_agent: z.object({ checkpoint: FolderRef.nullish() }).optional(),
          tokens: z.number().optional(),
        })
        .optional(),
    })
    .optional(),
  notes: z.array(z.string()).optional(),
});
type LedgerLine = z.infer<typeof ledgerLineSchema>;

/**
 * Reads a run's folder as far as it can be read: a run in progress has few lines, and a killed one may end in
 * half a line. The ledger decides which epochs are committed and what their metrics are; `metrics.jsonl` adds
 * the times.
 * @throws Error if there is no such run, InvalidArtifact if a link is in the place of its folder
 */
export async function loadRun({ home, runId }: { home: string; runId: string }): Promise<RunData> {
  const run = new RunFolder(join(home, 'runs'), runId);
  await run.refresh();
  if ((await undefinedIfMissing(stat(run.path))) === undefined)
    throw new Error(
      `No run ${JSON.stringify(runId)}: ${run.path} does not exist. \`genenv status\` lists the runs.`,
    );
  await requirePlainFolder(run.path);
  const gaps: string[] = [];
  const [experiment, ledger, timed, events] = await Promise.all([
    readExperiment(run, gaps),
    readLines(run.ledgerFile, ledgerLineSchema, gaps),
    readLines(run.metricsFile, metricsLineSchema, gaps),
    readLines(run.eventsFile, eventSchema, gaps),
  ]);
  if (experiment !== null) {
    const opened = await unlessDamaged(run.open(), undefined, gaps);
    const problem = (await opened?.ledger.inspect())?.problem;
    if (problem)
      gaps.push(
        `ledger.jsonl does not verify: ${problem.problem}. What follows from there is shown, but not vouched for.`,
      );
  }
  const [retunes, forkedFrom] = await Promise.all([
    unlessDamaged(run.readRetunes(), [], gaps),
    unlessDamaged(lineage(run), [], []),
  ]);
  const rows = mergeRows(
    ledger.map(({ value, line }) => ({ ...value, line: sha256(line) })),
    timed.map(({ value }) => value),
  );
  for (const row of benchmarkedRows(rows, experiment?.experiment, retunes)) {
    const id = evaluationOfEpoch(runId, row.epoch, row.line ?? '');
    const folder = new EvaluationFolder(join(home, 'evaluations'), id);
    Object.assign(row.metrics, await unlessDamaged(benchmarkScores(folder), {}, gaps));
  }
  const last = ledger.at(-1);
  const file = parseSettings(experiment?.experiment, gaps);
  const inEffect =
    file === null
      ? null
      : await unlessDamaged(experimentInEffect(run, file, (rows.at(-1)?.epoch ?? -1) + 1), file, []);
  const reported = events.map(({ value }) => eventOf(value));
  return {
    runId,
    experiment: inEffect,
    experimentFile: experiment,
    retunes,
    forkedFrom,
    rows: withQueueTimes(rows, reported),
    events: reported,
    head: last === undefined ? null : sha256(last.line),
    gaps,
  };
}

const eventOf = ({ at, time, ...event }: RunEvent): ReportEvent => ({ ...event, at: at ?? time ?? '' });

function mergeRows(ledger: (LedgerLine & { line: string })[], timed: MetricsLine[]): EpochRow[] {
  // An epoch that was started again has several lines: the last one was committed.
  const times = new Map(timed.map((line) => [line.epoch, line]));
  const committed: (LedgerLine & { line?: string })[] = ledger.length > 0 ? ledger : [...times.values()];
  return committed
    .map(({ epoch, metrics, outputs, notes, line: hash }) => {
      const line = times.get(epoch);
      return {
        epoch,
        metrics: { ...line?.metrics, ...metrics },
        time: line?.time ?? {},
        at: line?.at ?? null,
        notes: notes ?? [],
        outputs: outputs ?? {},
        line: hash,
      };
    })
    .sort((a, b) => a.epoch - b.epoch);
}

/** The epochs after which the agent may have been evaluated on benchmarks. Retunes may have moved the last one. */
function benchmarkedRows(
  rows: readonly EpochRow[],
  experiment: unknown,
  retunes: readonly Retune[],
): readonly EpochRow[] {
  const { epochs, evaluation } = (experiment ?? {}) as Partial<Experiment>;
  const benchmarks = evaluation?.benchmarks;
  if (!isObject(benchmarks)) return [];
  const ends = new Set<unknown>([epochs, rows.at(-1)?.epoch, ...retunes.map(({ set }) => set.epochs)]);
  return rows.filter(({ epoch }) => ends.has(epoch) || isEvaluationDue(epoch, benchmarks, Infinity));
}

async function readExperiment(
  run: RunFolder,
  gaps: string[],
): Promise<{ experiment: unknown; sha256: string } | null> {
  try {
    const read = await run.readExperiment();
    if (read !== undefined) return read;
    gaps.push(
      'experiment.json is missing: settings are not shown, and tasks are shown as the simulator wrote them.',
    );
  } catch (error) {
    if (!(error instanceof InvalidArtifact)) throw error;
    gaps.push(
      'experiment.json is not valid JSON: settings are not shown, and tasks are shown as the simulator wrote them.',
    );
  }
  return null;
}

/** An experiment of another version is shown, but its settings are not relied on. */
function parseSettings(experiment: unknown, gaps: string[]): Experiment | null {
  if (experiment === undefined) return null;
  const { success, error } = experimentSchema.safeParse(experiment);
  if (success) return experiment as Experiment;
  const field = error.issues[0]?.path.map(String).join('.') ?? '';
  gaps.push(
    'experiment.json was written by another version (it differs in ' +
      `${field === '' ? 'its fields' : field}): tasks are shown as the simulator wrote them, and guards by ` +
      'general thresholds.',
  );
  return null;
}
