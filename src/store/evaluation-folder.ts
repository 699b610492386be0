import { join, resolve } from 'node:path';
import type { Evaluation } from '../contracts/evaluation.ts';
import type { EvaluationResults } from '../contracts/evaluations.ts';
import { atomicWrite } from './atomic-write.ts';
import { readJsonFile } from './json-file.ts';
import { checkRunId } from './run-id.ts';

/** What a person opens of an evaluation: `evaluations/<id>/`. */
export class EvaluationFolder {
  readonly path: string;
  readonly evaluationFile: string;
  readonly resultsFile: string;
  readonly casesFile: string;

  /** Makes nothing on disk. @throws InvalidConfig for an id that is no folder name */
  constructor(root: string, id: string) {
    this.path = join(resolve(root), checkRunId(id));
    this.evaluationFile = join(this.path, 'evaluation.json');
    this.resultsFile = join(this.path, 'results.json');
    this.casesFile = join(this.path, 'cases.jsonl');
  }

  /** The evaluation as it was begun; undefined if there is none. @throws InvalidArtifact if it is no JSON */
  read(): Promise<Evaluation | undefined> {
    return readJsonFile<Evaluation>(this.evaluationFile, remedy);
  }

  /** What came of it; undefined before its end. @throws InvalidArtifact if it is no JSON */
  readResults(): Promise<EvaluationResults | undefined> {
    return readJsonFile<EvaluationResults>(this.resultsFile, remedy);
  }

  /** @throws StoreUnavailable */
  async write(evaluation: Evaluation): Promise<void> {
    await atomicWrite(this.evaluationFile, `${JSON.stringify(evaluation, null, 2)}\n`);
  }
}

const remedy = 'Remove it and start the evaluation again with its file: what was answered is kept.';
