import { join } from 'node:path';
import { z } from 'zod';
import { armRuns } from '../comparison/plan.ts';
import { runMetrics } from '../comparison/run-metrics.ts';
import { differenceText, valueText } from '../comparison/seed-estimates.ts';
import { evaluationView } from '../evaluation/evaluation-view.ts';
import type { EvaluationView } from '../evaluation/evaluation-view.ts';
import { caseChoices, matchesCase, shownCase } from '../evaluation/shown-case.ts';
import type { CaseChoices, ShownCase } from '../evaluation/shown-case.ts';
import { listResults } from '../runs/list-results.ts';
import { ComparisonFolder, EvaluationFolder } from '../runs/result-folders.ts';
import { fileStamp } from '../store/file-stamp.ts';
import { isPlainFile, requirePlainFolder } from '../store/plain-files.ts';
import { refreshCopy } from '../store/shared-files.ts';
import type {
  ArmRunLine,
  CasesPage,
  ComparisonLine,
  ComparisonPage,
  EvaluationPage,
  HomeView,
} from './api.ts';
import { FolderStamps, listStamp } from './file-stamp.ts';
import { StampedCache } from './stamped-cache.ts';
import { notStarted, timeLeft } from './time-left.ts';
import type { RunState } from './time-left.ts';

const text = z.string().max(100_000);
const number = z.number().nullable();
/** What a page shows of `summary.json`. */
const summarySchema = z.object({
  primary: z.array(
    z.object({
      arm: text,
      against: text,
      measure: text,
      verdict: text,
      p: number,
      difference: z
        .object({
          mean: z.number(),
          low: number,
          high: number,
          seeds: z.int(),
          isCensored: z.literal(true).optional(),
        })
        .nullable(),
    }),
  ),
  claims: z.array(
    z.object({
      arm: text,
      rows: z.array(z.object({ claim: text, paper: text, ours: text, verdict: text })),
    }),
  ),
  notes: z.array(text),
});

const PAGE_CASES = 25;
const MAX_LINES = 10_000;

/** Filters of a table of cases, as they stand in an address. */
export const caseQuerySchema = z.object({
  suite: z.string().max(500).default(''),
  outcome: z.enum(['', 'right', 'wrong']).default(''),
  reason: z.string().max(20_000).default(''),
  text: z.string().max(200).default(''),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});
type CaseQuery = z.infer<typeof caseQuerySchema>;

/** An evaluation that has ended, as its pages show it. */
interface ShownEvaluation {
  /** Without its cases. */
  view: EvaluationView;
  cases: ShownCase[];
  choices: CaseChoices;
}

/** A comparison with the ids of all its runs, made or not. */
export interface PlannedComparison {
  line: ComparisonLine;
  runs: string[];
}

/** What is known of a run by its id. */
type RunStates = (run: string) => Promise<RunState | undefined>;

/** Reads comparisons and evaluations of a home folder. */
export class ResultsPages {
  readonly #comparisons: string;
  readonly #evaluations: string;
  readonly #lists = new StampedCache<string[]>(2);
  readonly #plannedComparisons = new StampedCache<PlannedComparison[]>(MAX_LINES);
  readonly #evaluationLines = new StampedCache<HomeView['evaluations'][number]>(MAX_LINES);
  /** With all cases, so one alone. */
  readonly #shown = new StampedCache<ShownEvaluation | undefined>(1);
  readonly #stamps = new FolderStamps();

  constructor(home: string) {
    this.#comparisons = join(home, 'comparisons');
    this.#evaluations = join(home, 'evaluations');
  }

  #ids(root: string): Promise<string[]> {
    return this.#lists.get(root, listStamp(root), () => listResults(root));
  }

  async comparisons(): Promise<PlannedComparison[]> {
    const ids = await this.#ids(this.#comparisons);
    const planned = await Promise.all(ids.map((id) => this.#planned(id).catch(() => [])));
    return planned.flat();
  }

  /** Change when a comparison starts, or is summed up. */
  async comparisonStamps(): Promise<(readonly [id: string, stamp: string])[]> {
    const ids = await this.#ids(this.#comparisons);
    return Promise.all(ids.map(async (id) => [id, await this.#stamp(id)] as const));
  }

  #stamp(id: string): Promise<string> {
    const { path, comparisonFile, summaryFile } = new ComparisonFolder(this.#comparisons, id);
    return this.#stampOf(path, [comparisonFile, summaryFile]);
  }

  #stampOf(folder: string, files: readonly string[]): Promise<string> {
    return this.#stamps.get(folder, files, async () => {
      await requirePlainFolder(folder);
      for (const file of files) await refreshCopy(file);
    });
  }

  async #planned(id: string): Promise<PlannedComparison[]> {
    const folder = new ComparisonFolder(this.#comparisons, id);
    return this.#plannedComparisons.get(id, await this.#stamp(id), async () => {
      const started = await folder.read();
      if (started === undefined) return [];
      const { arms, seeds } = started.comparison;
      const isSummarized = await isPlainFile(folder.summaryFile);
      const runs = armRuns(id, started.comparison).map((run) => run.id);
      return [{ line: { id, arms: Object.keys(arms).length, seeds: seeds.length, isSummarized }, runs }];
    });
  }

  /** @param stateOf the state of a run; undefined if there is none */
  async comparison(id: string, stateOf: RunStates): Promise<ComparisonPage | undefined> {
    const folder = new ComparisonFolder(this.#comparisons, id);
    const started = await folder.read();
    if (started === undefined) return undefined;
    const { arms, seeds } = started.comparison;
    const lines: (ArmRunLine & { arm: string })[] = [];
    // One after the other, as in the overview: hundreds of runs at once would fill the memory.
    for (const { id: run, arm, seed } of armRuns(id, started.comparison)) {
      const state = (await stateOf(run)) ?? notStarted(arms[arm]!.epochs);
      lines.push({ id: run, arm, seed, ...state });
    }
    const summary = await folder.readText(folder.summaryFile);
    return {
      id,
      arms: Object.keys(arms).map((arm) => ({ arm, runs: lines.filter((line) => line.arm === arm) })),
      seeds,
      secondsLeft: timeLeft(lines),
      summary: summary === undefined ? null : summaryOf(summary),
      hasReport: await isPlainFile(folder.reportFile),
    };
  }

  async evaluations(): Promise<HomeView['evaluations']> {
    const ids = await this.#ids(this.#evaluations);
    return Promise.all(ids.map((id) => this.#evaluationLine(id)));
  }

  async #evaluationLine(id: string): Promise<HomeView['evaluations'][number]> {
    const folder = new EvaluationFolder(this.#evaluations, id);
    const read = async (): Promise<HomeView['evaluations'][number]> => {
      const results = await folder.readResults();
      const scores = (results?.suites ?? []).flatMap((suite) =>
        suite.skipped === null ? suite.scores.slice(0, 1).map(({ name, value }) => ({ name, value })) : [],
      );
      return { id, hasEnded: results !== undefined, scores };
    };
    try {
      return await this.#evaluationLines.get(id, await this.#resultsStamp(folder), read);
    } catch {
      // Its results are damaged, or its bucket is away: it is read again for the next page.
      return { id, hasEnded: false, scores: [] };
    }
  }

  #resultsStamp({ path, resultsFile }: EvaluationFolder): Promise<string> {
    return this.#stampOf(path, [resultsFile]);
  }

  async evaluation(id: string): Promise<EvaluationPage | undefined> {
    const folder = new EvaluationFolder(this.#evaluations, id);
    if ((await folder.read()) === undefined) return undefined;
    const shown = await this.#evaluation(id);
    return {
      id,
      view: shown?.view ?? null,
      hasReport: await isPlainFile(folder.reportFile),
    };
  }

  /** Some of an evaluation's cases; undefined before its end. */
  async cases(id: string, query: CaseQuery): Promise<CasesPage | undefined> {
    const shown = await this.#evaluation(id);
    if (shown === undefined) return undefined;
    const matching = shown.cases.filter((item) => matchesCase(item, query));
    return {
      total: shown.cases.length,
      matching: matching.length,
      pageSize: PAGE_CASES,
      choices: shown.choices,
      cases: matching.slice(query.offset, query.offset + PAGE_CASES),
    };
  }

  /** An evaluation that has ended, with all cases, of which requests get a page at a time. */
  async #evaluation(id: string): Promise<ShownEvaluation | undefined> {
    const folder = new EvaluationFolder(this.#evaluations, id);
    // The cases are large: their copy is brought up to date when they are read, after the results have changed.
    const stamp = `${await this.#resultsStamp(folder)} ${await fileStamp([folder.casesFile])}`;
    return this.#shown.get(id, stamp, async () => {
      const results = await folder.readResults();
      if (results === undefined) return undefined;
      const view = evaluationView(results, (await folder.readCases()) ?? '');
      const cases = view.cases.map(shownCase);
      return { view: { ...view, cases: [] }, cases, choices: caseChoices(cases) };
    });
  }

  /** The file of a report that was written for people. */
  reportFile(kind: 'comparisons' | 'evaluations', id: string): string {
    return kind === 'comparisons'
      ? new ComparisonFolder(this.#comparisons, id).reportFile
      : new EvaluationFolder(this.#evaluations, id).reportFile;
  }
}

function summaryOf(json: string): ComparisonPage['summary'] {
  const { primary, claims, notes } = summarySchema.parse(JSON.parse(json));
  return {
    primary: primary.map(({ arm, against, measure, verdict, p, difference }) => ({
      arm,
      against,
      measure,
      verdict,
      difference: differenceText(difference && { ...difference, p, adjusted: null }, unitOf(measure)),
      p: valueText(p),
    })),
    claims,
    notes,
  };
}

/** A summary of an older version may have a measure that this one does not know. */
const unitOf = (measure: string) => Object.entries(runMetrics).find(([name]) => name === measure)?.[1].unit;
