import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import {
  curvesFileFor,
  generatedPart,
  runsFileFor,
  summaryFileFor,
} from '../../src/cli/lib/comparison-results.ts';
import { curvesSvg } from '../../src/comparison/curves-svg.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { parseRunsFile, runsOf } from '../../src/comparison/runs-file.ts';
import { comparisonHash, RULES, summarizeRuns } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { mean } from '../../src/numerics/arithmetic.ts';
import { experimentFile } from '../../test-support/experiments.ts';

/**
 * What docs/ publishes is what the command made of its file: no figure was written by hand, and no file was
 * changed since. A document of earlier rules says so, and has the figures of its runs.
 */

const documents = readdirSync(join(repository, 'docs'))
  .filter((name) => /^results-.*\.md$/.test(name))
  .map((name) => `docs/${name}`);
const summaryOf = (document: string): Summary =>
  JSON.parse(readFileSync(join(repository, summaryFileFor(document)), 'utf8')) as Summary;
/** Summaries of the first version do not name it. */
const rulesOf = (summary: { rules?: number }): number => summary.rules ?? 1;
const textOf = (document: string): string => generatedPart(readFileSync(join(repository, document), 'utf8'));

test('there are some', () => {
  expect(documents.map((file) => summaryOf(file).name)).toEqual(
    expect.arrayContaining(['compare-laptop', 'compare-placed', 'compare-ablations', 'compare-coin']),
  );
});

describe.each(documents)('%s', (document) => {
  const summary = summaryOf(document);
  const text = textOf(document);

  test('has the text that its summary gives, of the file as it is; or says that its rules are earlier ones', () => {
    if (rulesOf(summary) < RULES) {
      expect(text).toContain(
        '> Made by an earlier version of the rules, from the comparison file as it was then',
      );
      return;
    }
    expect(text).toBe(resultsMarkdown(summary));
    expect(readFileSync(join(repository, curvesFileFor(document)), 'utf8')).toBe(curvesSvg(summary));
    expect(summary.comparison).toBe(comparisonHash(parseComparison(experimentFile(summary.name))));
  });

  test('follows from its runs, where they are published', { timeout: 180_000 }, () => {
    const file = join(repository, runsFileFor(document));
    if (!existsSync(file)) return;
    const comparison = parseComparison(experimentFile(summary.name));
    const { id, arm, seed } = { arm: summary.arms[0]!.arm, ...summary.arms[0]!.runs[0]! };
    const lines = runsOf(comparison, parseRunsFile(file, readFileSync(file, 'utf8')));
    const again = summarizeRuns(comparison, id.slice(0, -`.${arm}.${seed}`.length), lines);
    expect(JSON.parse(JSON.stringify(again))).toEqual(summary);
  });

  test('has the figures and the ledgers of its runs', () => {
    expect(text).toContain(`seeds ${summary.seeds.join(', ')}, ${summary.epochs} epochs`);
    for (const { arm, runs } of summary.arms) {
      const area = mean(runs.map(({ figures }) => figures.area!))!;
      const row = text
        .split('\n## Arms\n')[1]!
        .split('\n')
        .find((line) => line.startsWith(`| ${arm} | `))!;
      expect(row, arm).toContain(`| ${arm} | ${area.toFixed(3)}`);
      for (const { id, ledger } of runs) expect(text).toContain(`| \`${id}\` | \`${ledger.slice(0, 16)}\``);
    }
  });
});
