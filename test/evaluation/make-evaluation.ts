import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { EvaluationFolder } from '../../src/runs/result-folders.ts';
import type { CaseLine } from '../../src/types/evaluation-types.ts';
import { fileOf, someResults, someSuite } from '../report/some-evaluation-view.ts';

/** Writes the folder of an evaluation of one suite that has ended, with these cases. */
export async function makeEvaluation(
  home: string,
  id: string,
  cases: readonly CaseLine[],
): Promise<EvaluationFolder> {
  const folder = new EvaluationFolder(join(home, 'evaluations'), id);
  const evaluation = parseEvaluation({
    name: id,
    suites: ['bamboogle_closedbook'],
    policy: { type: 'gold' },
  });
  await folder.write(evaluation);
  const results = {
    ...someResults(id, [someSuite('sums', cases)]),
    evaluation,
    policy: { type: 'gold' },
    record: { uri: `objects/aa/${'a'.repeat(64)}.json`, sha256: 'a'.repeat(64), bytes: 1, count: 1 },
    identity: 'i',
    shards: [],
  };
  await writeFile(folder.resultsFile, JSON.stringify(results));
  await writeFile(folder.casesFile, fileOf(cases));
  return folder;
}
