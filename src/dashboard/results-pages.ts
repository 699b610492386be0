import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { armRuns } from '../comparison/plan.ts';
import { evaluationView } from '../evaluation/evaluation-view.ts';
import type { EvaluationView } from '../evaluation/evaluation-view.ts';
import { ComparisonFolder, EvaluationFolder } from '../runs/result-folders.ts';
import { isRunId } from '../store/phase-cache.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import type { CaseLine } from '../types/evaluation-types.ts';
import type { CasesPage, ComparisonPage, EvaluationPage, HomeView } from './api.ts';

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
      difference: z.object({ mean: z.number(), low: number, high: number }).nullable(),
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

/** Filters of a table of cases, as they stand in an address. */
export const caseQuerySchema = z.object({
  suite: z.string().max(500).default(''),
  verdict: z.enum(['', 'right', 'wrong']).default(''),
  text: z.string().max(200).default(''),
  offset: z.coerce.number().int().min(0).max(10_000_000).default(0),
});
type CaseQuery = z.infer<typeof caseQuerySchema>;

function matches(line: CaseLine, { suite, verdict, text: wanted }: CaseQuery): boolean {
  const needle = wanted.trim().toLowerCase();
  const { id, question = '', answer = '', gold = '', reason } = line;
  return (
    (suite === '' || line.suite === suite) &&
    (verdict === '' || line.correct === (verdict === 'right')) &&
    (needle === '' || [id, question, answer, gold, reason ?? ''].join('\n').toLowerCase().includes(needle))
  );
}

/** Reads comparisons and evaluations of a home folder. */
export class ResultsPages {
  readonly #comparisons: string;
  readonly #evaluations: string;
  /** The evaluation that was looked at last. */
  #last: { stamp: string; view: EvaluationView } | undefined;

  constructor(home: string) {
    this.#comparisons = join(home, 'comparisons');
    this.#evaluations = join(home, 'evaluations');
  }

  async comparisons(): Promise<HomeView['comparisons']> {
    const ids = await folderIds(this.#comparisons);
    const lines = await Promise.all(
      ids.map(async (id) => {
        const folder = new ComparisonFolder(this.#comparisons, id);
        const started = await folder.read().catch(() => undefined);
        if (started === undefined) return [];
        const { arms, seeds } = started.comparison;
        const isSummarized = await exists(folder.summaryFile);
        return [{ id, arms: Object.keys(arms).length, seeds: seeds.length, isSummarized }];
      }),
    );
    return lines.flat();
  }

  async comparison(id: string): Promise<ComparisonPage | undefined> {
    const folder = new ComparisonFolder(this.#comparisons, id);
    const started = await folder.read();
    if (started === undefined) return undefined;
    const { arms, seeds } = started.comparison;
    const runs = armRuns(id, started.comparison);
    const summary = await folder.readText(folder.summaryFile);
    return {
      id,
      arms: Object.keys(arms).map((arm) => ({
        arm,
        runs: runs.filter((run) => run.arm === arm).map((run) => run.id),
      })),
      seeds,
      summary: summary === undefined ? null : summaryOf(summary),
      hasReport: await exists(folder.reportFile),
    };
  }

  async evaluations(): Promise<HomeView['evaluations']> {
    const ids = await folderIds(this.#evaluations);
    return Promise.all(
      ids.map(async (id) => {
        const results = await new EvaluationFolder(this.#evaluations, id)
          .readResults()
          .catch(() => undefined);
        const scores = (results?.suites ?? []).flatMap((suite) =>
          suite.skipped === null ? suite.scores.slice(0, 1).map(({ name, value }) => ({ name, value })) : [],
        );
        return { id, hasEnded: results !== undefined, scores };
      }),
    );
  }

  async evaluation(id: string): Promise<EvaluationPage | undefined> {
    const folder = new EvaluationFolder(this.#evaluations, id);
    if ((await folder.read()) === undefined) return undefined;
    const viewed = await this.#viewed(folder);
    return {
      id,
      // Thousands of cases come a page at a time.
      view: viewed === undefined ? null : { ...viewed, cases: [] },
      hasReport: await exists(folder.reportFile),
    };
  }

  /** Some of an evaluation's cases; undefined before its end. */
  async cases(id: string, query: CaseQuery): Promise<CasesPage | undefined> {
    const viewed = await this.#viewed(new EvaluationFolder(this.#evaluations, id));
    if (viewed === undefined) return undefined;
    const matching = viewed.cases.filter((line) => matches(line, query));
    return {
      total: viewed.cases.length,
      matching: matching.length,
      suites: viewed.suites.map(({ name }) => name),
      cases: matching.slice(query.offset, query.offset + PAGE_CASES),
    };
  }

  /** The view of an evaluation, which never changes once it has ended but by judging again. */
  async #viewed(folder: EvaluationFolder): Promise<EvaluationView | undefined> {
    const entry = await undefinedIfMissing(stat(folder.resultsFile));
    const stamp = entry === undefined ? '' : `${folder.path} ${entry.size} ${entry.mtimeMs}`;
    if (this.#last?.stamp === stamp) return this.#last.view;
    const results = await folder.readResults();
    if (results === undefined) return undefined;
    const view = evaluationView(results, (await folder.readCases()) ?? '');
    this.#last = { stamp, view };
    return view;
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
      difference:
        difference === null
          ? '–'
          : `${fixed(difference.mean)} [${fixed(difference.low)}, ${fixed(difference.high)}]`,
      p: fixed(p),
    })),
    claims,
    notes,
  };
}

const fixed = (value: number | null): string => (value === null ? '–' : value.toFixed(3).replace('-', '−'));

async function folderIds(root: string): Promise<string[]> {
  const entries = (await undefinedIfMissing(readdir(root, { withFileTypes: true }))) ?? [];
  return entries
    .filter((entry) => entry.isDirectory() && isRunId(entry.name))
    .map(({ name }) => name)
    .sort();
}

const exists = async (file: string): Promise<boolean> =>
  (await undefinedIfMissing(stat(file)))?.isFile() === true;
