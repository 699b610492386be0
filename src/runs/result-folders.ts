import { randomBytes } from 'node:crypto';
import { join, relative } from 'node:path';
import { z } from 'zod';
import type { Comparison } from '../config/comparison.ts';
import { evaluationSchema } from '../config/evaluation.ts';
import type { Evaluation } from '../config/evaluation.ts';
import { hashOf } from '../store/canonical-json.ts';
import { InvalidArtifact, undefinedIfMissing, withDiskErrors } from '../store/errors.ts';
import { appendJsonLine, problemOf, readJsonFile, readJsonLines } from '../store/json-files.ts';
import { checkRunId } from '../store/phase-cache.ts';
import { MAX_FILE_BYTES, MAX_LINES_BYTES, readPlainFile, requirePlainFolder } from '../store/plain-files.ts';
import { followNoLinksBelow } from '../store/real-place.ts';
import { refreshCopy, writeShared } from '../store/shared-files.ts';
import { sharedPlace } from '../store/shared-folders.ts';
import { createLine, refreshLines } from '../store/shared-lines.ts';
import type { EvaluationResults } from '../types/evaluation-types.ts';
import type { RunEpoch } from '../types/nightly-inputs.ts';
import type { NightRecord } from '../types/nightly-types.ts';
import {
  evaluationResultsSchema,
  homeNameSchema,
  nightSchema,
  startedComparisonSchema,
} from './file-schemas.ts';
import type { Origin } from './file-schemas.ts';
import { machineKind } from './machine-kind.ts';
import type { RunFolder } from './run-folder.ts';

/** Folders of runs and of results, by id. */
export interface RunFolders {
  runFolder: (id: string) => RunFolder;
  nightlyFolder: (name: string) => NightlyFolder;
  comparisonFolder: (id: string) => ComparisonFolder;
  evaluationFolder: (id: string) => EvaluationFolder;
}

/** A folder of results: nothing is read or written through a link in its place. */
class ResultFolder {
  readonly path: string;

  /** Makes nothing on disk. @throws InvalidConfig for an id that cannot be a folder name */
  constructor(root: string, id: string) {
    this.path = join(followNoLinksBelow(root), checkRunId(id));
  }

  /** The path of one of its files from the home folder, which holds a folder for each kind of results. */
  inHome(file: string): string {
    return relative(join(this.path, '..', '..'), file);
  }

  /** Writes one of its files. @throws InvalidArtifact if the folder is a link, StoreUnavailable */
  async writeFile(file: string, text: string): Promise<void> {
    await requirePlainFolder(this.path);
    await writeShared(file, text);
  }

  /**
   * The text of one of its files; undefined if there is none. @throws InvalidArtifact for a link, StoreUnavailable
   * @param limit in bytes
   */
  async readText(file: string, limit = MAX_FILE_BYTES): Promise<string | undefined> {
    await requirePlainFolder(this.path);
    await refreshCopy(file);
    const data = await withDiskErrors(file, () => undefinedIfMissing(readPlainFile(file, limit)));
    return data?.toString('utf8');
  }

  protected async readFile<T>(file: string, remedy: string, schema: z.ZodType): Promise<T | undefined> {
    await requirePlainFolder(this.path);
    await refreshCopy(file);
    return readJsonFile<T>(file, remedy, schema);
  }
}

/**
 * The files of a comparison for people: `comparisons/<id>/`. All but the comparison file are made from the
 * runs' ledgers and can be made again.
 */
export class ComparisonFolder extends ResultFolder {
  readonly comparisonFile: string;
  readonly summaryFile: string;
  readonly resultsFile: string;
  readonly reportFile: string;
  /** What the arms have used, from the runs' times and events too. */
  readonly costsFile: string;
  /** Its runs as lines that another home can continue from, and those that came from another. */
  readonly runsFile: string;
  readonly carriedFile: string;
  readonly #originFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for an id that cannot be a folder name */
  constructor(root: string, id: string) {
    super(root, id);
    this.comparisonFile = join(this.path, 'comparison.json');
    this.summaryFile = join(this.path, 'summary.json');
    this.resultsFile = join(this.path, 'results.md');
    this.reportFile = join(this.path, 'report.html');
    this.costsFile = join(this.path, 'costs.md');
    this.runsFile = join(this.path, 'runs.jsonl');
    this.carriedFile = join(this.path, 'carried.jsonl');
    this.#originFile = join(this.path, '..', 'origin.json');
  }

  /**
   * Which home folder and which kind of machine this is, for the lines of its runs. A home gets its name, which
   * says nothing, when it is first asked for. @throws InvalidArtifact, StoreUnavailable
   */
  async origin(): Promise<Origin> {
    const machine = await machineKind();
    await refreshCopy(this.#originFile);
    const named = await readJsonFile<{ home: string }>(
      this.#originFile,
      'Remove it: the home folder gets another name.',
      homeNameSchema,
    );
    if (named !== undefined) return { home: named.home, machine };
    const home = randomBytes(4).toString('hex');
    await writeShared(this.#originFile, `${JSON.stringify({ home })}\n`);
    return { home, machine };
  }

  /**
   * The comparison as it was started, and its hash; undefined if none. @throws InvalidArtifact naming the field
   */
  async read(): Promise<{ comparison: Comparison; sha256: string } | undefined> {
    const comparison = await this.readFile<Comparison>(
      this.comparisonFile,
      'Remove it and start the comparison again with its file: the runs continue from where they are.',
      startedComparisonSchema,
    );
    return comparison === undefined ? undefined : { comparison, sha256: hashOf(comparison) };
  }

  /** @throws StoreUnavailable */
  async write(comparison: Comparison): Promise<void> {
    await this.writeFile(this.comparisonFile, `${JSON.stringify(comparison, null, 2)}\n`);
  }
}

/** The files of an evaluation for people: `evaluations/<id>/`. */
export class EvaluationFolder extends ResultFolder {
  readonly evaluationFile: string;
  readonly resultsFile: string;
  readonly casesFile: string;
  readonly reportFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for an id that cannot be a folder name */
  constructor(root: string, id: string) {
    super(root, id);
    this.evaluationFile = join(this.path, 'evaluation.json');
    this.resultsFile = join(this.path, 'results.json');
    this.casesFile = join(this.path, 'cases.jsonl');
    this.reportFile = join(this.path, 'report.html');
  }

  /**
   * The evaluation as it was started; undefined if there is none. @throws InvalidArtifact naming the field
   */
  read(): Promise<Evaluation | undefined> {
    return this.readFile<Evaluation>(this.evaluationFile, REMEDY, evaluationSchema);
  }

  /** Its results; undefined before its end. @throws InvalidArtifact naming the field */
  readResults(): Promise<EvaluationResults | undefined> {
    return this.readFile<EvaluationResults>(this.resultsFile, REMEDY, evaluationResultsSchema);
  }

  /** The text of its cases; undefined before its end. @throws InvalidArtifact for a link, StoreUnavailable */
  readCases(): Promise<string | undefined> {
    return this.readText(this.casesFile, MAX_LINES_BYTES);
  }

  /** @throws StoreUnavailable */
  async write(evaluation: Evaluation): Promise<void> {
    await this.writeFile(this.evaluationFile, `${JSON.stringify(evaluation, null, 2)}\n`);
  }
}

const REMEDY = 'Remove it and start the evaluation again with its file: what was answered is kept.';

/**
 * The record of a nightly curriculum: `nightly/<name>/nights.jsonl`, a line a night. It decides what comes
 * next.
 */
export class NightlyFolder extends ResultFolder {
  readonly nightsFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for a name that cannot be a folder name */
  constructor(root: string, name: string) {
    super(root, name);
    this.nightsFile = join(this.path, 'nights.jsonl');
  }

  /**
   * The readable lines of the record. A night whose line is torn is closed again, with the same result from
   * its run. @throws StoreUnavailable, InvalidArtifact for a line that is no night's
   */
  async nights(): Promise<NightRecord[]> {
    await requirePlainFolder(this.path);
    await refreshLines(this.nightsFile);
    const lines = await readJsonLines(this.nightsFile, z.unknown());
    for (const [index, line] of lines.entries()) {
      const problem = problemOf(line, nightSchema);
      if (problem !== undefined)
        throw new InvalidArtifact(
          this.nightsFile,
          problem,
          { line: index },
          'Restore the line, or remove it.',
        );
    }
    return lines as NightRecord[];
  }

  /** The next night, and what it starts from. A failed night is continued. @throws StoreUnavailable */
  async next(): Promise<{ night: number; standing: RunEpoch | null }> {
    const last = (await this.nights()).filter(isClosed).at(-1);
    return { night: (last?.night ?? 0) + 1, standing: last?.standing ?? null };
  }

  /** The line that closed a night; undefined while it is open. @throws StoreUnavailable, InvalidArtifact */
  async closed(night: number): Promise<NightRecord | undefined> {
    return (await this.nights()).find((line) => isClosed(line) && line.night === night);
  }

  /** Closes a night once: closing it again returns the existing line. @throws StoreUnavailable */
  async close(record: NightRecord): Promise<NightRecord> {
    const before = await this.closed(record.night);
    if (before === undefined) await this.note(record);
    return before ?? record;
  }

  /** @throws StoreUnavailable */
  async note(record: NightRecord): Promise<void> {
    await requirePlainFolder(this.path);
    if (sharedPlace(this.nightsFile) === undefined) return appendJsonLine(this.nightsFile, record);
    const name = `${new Date().toISOString().replaceAll(':', '-')}-${randomBytes(4).toString('hex')}`;
    await createLine(this.nightsFile, name, JSON.stringify(record));
  }
}

const isClosed = ({ outcome }: NightRecord): boolean => outcome !== 'failed';
