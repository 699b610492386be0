import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { generatedPart, summaryFileFor } from '../../src/cli/lib/comparison-results.ts';
import { resultsMarkdown } from '../../src/comparison/results-markdown.ts';
import { comparisonHash } from '../../src/comparison/summary.ts';
import type { Summary } from '../../src/comparison/summary.ts';
import { parseComparison } from '../../src/config/comparison.ts';
import { experimentFile } from '../../test-support/experiments.ts';

/**
 * What docs/ publishes is what the command made of its file: no figure was written by hand, and no file was
 * changed since.
 */

const documents = readdirSync(join(repository, 'docs'))
  .filter((name) => /^results.*\.md$/.test(name))
  .map((name) => `docs/${name}`);
const summaryOf = (document: string): Summary =>
  JSON.parse(readFileSync(join(repository, summaryFileFor(document)), 'utf8')) as Summary;

test('there are some', () => {
  expect(documents.map((file) => summaryOf(file).name)).toEqual(
    expect.arrayContaining(['compare-laptop', 'compare-placed', 'compare-ablations', 'compare-coin']),
  );
});

describe.each(documents)('%s', (document) => {
  const summary = summaryOf(document);

  test('has the text that its summary gives', () => {
    expect(generatedPart(readFileSync(join(repository, document), 'utf8'))).toBe(resultsMarkdown(summary));
  });

  test('is of the comparison file as it is', () => {
    expect(summary.comparison).toBe(comparisonHash(parseComparison(experimentFile(summary.name))));
  });
});
