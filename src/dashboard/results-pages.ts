import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { armRuns } from '../comparison/plan.ts';
import { ComparisonFolder, EvaluationFolder } from '../runs/result-folders.ts';
import { isRunId } from '../store/phase-cache.ts';
import { undefinedIfMissing } from '../store/errors.ts';
import type { ComparisonPage, EvaluationPage, HomeView } from './api.ts';

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

/** Reads comparisons and evaluations of a home folder. */
export class ResultsPages {
  readonly #comparisons: string;
  readonly #evaluations: string;

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
        const page = await this.evaluation(id).catch(() => undefined);
        const scores = page?.suites.flatMap((suite) => suite.scores.slice(0, 1)) ?? [];
        return { id, hasEnded: page?.hasEnded ?? false, scores };
      }),
    );
  }

  async evaluation(id: string): Promise<EvaluationPage | undefined> {
    const folder = new EvaluationFolder(this.#evaluations, id);
    const [started, results] = await Promise.all([folder.read(), folder.readResults()]);
    if (started === undefined) return undefined;
    return {
      id,
      hasEnded: results !== undefined,
      identity: results?.identity ?? '',
      suites: (results?.suites ?? []).map((suite) => ({
        name: suite.name,
        cases: suite.skipped === null ? suite.cases : 0,
        skipped: suite.skipped ?? '',
        scores: suite.skipped === null ? suite.scores.map(({ name, value }) => ({ name, value })) : [],
      })),
      hasReport: await exists(join(folder.path, 'report.html')),
    };
  }

  /** The file of a report that was written for people. */
  reportFile(kind: 'comparisons' | 'evaluations', id: string): string {
    return kind === 'comparisons'
      ? new ComparisonFolder(this.#comparisons, id).reportFile
      : join(new EvaluationFolder(this.#evaluations, id).path, 'report.html');
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
