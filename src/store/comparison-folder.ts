import { join, resolve } from 'node:path';
import type { Comparison } from '../contracts/comparisons.ts';
import { atomicWrite } from './atomic-write.ts';
import { hashOf } from './canonical-json.ts';
import { readJsonFile } from './json-file.ts';
import { checkRunId } from './run-id.ts';

/** What a person opens of a comparison: `comparisons/<id>/`. All but its file is made from the runs' ledgers and can be made again. */
export class ComparisonFolder {
  readonly path: string;
  readonly comparisonFile: string;
  readonly summaryFile: string;
  readonly resultsFile: string;
  readonly reportFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for an id that is no folder name */
  constructor(root: string, id: string) {
    this.path = join(resolve(root), checkRunId(id));
    this.comparisonFile = join(this.path, 'comparison.json');
    this.summaryFile = join(this.path, 'summary.json');
    this.resultsFile = join(this.path, 'results.md');
    this.reportFile = join(this.path, 'report.html');
  }

  /** The comparison as it was begun, and its hash; undefined if there is none. @throws InvalidArtifact if it is no JSON */
  async read(): Promise<{ comparison: Comparison; sha256: string } | undefined> {
    const comparison = await readJsonFile<Comparison>(
      this.comparisonFile,
      'Remove it and start the comparison again with its file: the runs go on where they are.',
    );
    return comparison === undefined ? undefined : { comparison, sha256: hashOf(comparison) };
  }

  /** @throws StoreUnavailable */
  async write(comparison: Comparison): Promise<void> {
    await atomicWrite(this.comparisonFile, `${JSON.stringify(comparison, null, 2)}\n`);
  }
}
