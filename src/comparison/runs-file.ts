import type { Comparison } from '../config/comparison.ts';
import { canonicalJson, hashOf } from '../store/canonical-json.ts';
import { InvalidConfig } from '../validation/invalid-config.ts';
import { parseOrNull, problemOf } from '../store/json-files.ts';
import { armRuns, experimentOf } from './plan.ts';
import { portableRunSchema } from './portable-run.ts';
import type { PortableRun } from './portable-run.ts';

/** Whether two are of one arm under one seed. */
export const inSameRun = (
  left: Pick<PortableRun, 'arm' | 'seed'>,
  right: Pick<PortableRun, 'arm' | 'seed'>,
): boolean => left.arm === right.arm && left.seed === right.seed;

/** The text of a runs file: a line for each run, in canonical JSON, so that equal runs give equal bytes. */
export const runsFileText = (runs: readonly PortableRun[]): string =>
  runs.map((run) => `${canonicalJson(run)}\n`).join('');

/** @throws InvalidConfig naming the file, the line and what is wrong with it */
export function parseRunsFile(file: string, text: string): PortableRun[] {
  return text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => {
      const run = parseOrNull(line);
      const problem = run === null ? 'not JSON' : problemOf(run, portableRunSchema);
      if (problem !== undefined)
        throw new InvalidConfig(
          `runs file: ${file}: line ${number}: ${problem}; expected a line that genenv wrote`,
        );
      return run as PortableRun;
    });
}

/**
 * Runs of several files as one list, in the order of the comparison: those of its arms and seeds. What was
 * measured on the same run is joined.
 * @throws InvalidConfig if one was made by other settings, or if two of one run differ
 */
export function runsOf(comparison: Comparison, runs: readonly PortableRun[]): PortableRun[] {
  return armRuns('', comparison).flatMap((planned) => {
    const { arm, seed } = planned;
    const name = `${arm}, seed ${seed}`;
    const own = runs.filter((run) => inSameRun(run, planned));
    const experiment = experimentOf(comparison, planned);
    const wanted = hashOf(experiment);
    for (const run of own) {
      if (run.experiment !== wanted)
        throw new InvalidConfig(
          `runs file: ${name}: got a run of other settings (${run.experiment.slice(0, 12)}); expected those of ` +
            `the comparison file (${wanted.slice(0, 12)})`,
        );
      if (run.epochs !== experiment.epochs)
        throw new InvalidConfig(
          `runs file: ${name}: got ${run.epochs} epochs; expected ${experiment.epochs}`,
        );
      if (run.ledger !== own[0]!.ledger)
        throw new InvalidConfig(
          `runs file: ${name}: got two runs, whose ledgers end with ${own[0]!.ledger.slice(0, 12)} and ` +
            `${run.ledger.slice(0, 12)}; keep the line of one`,
        );
    }
    if (own.length === 0) return [];
    const metrics = Object.assign({}, ...own.map((run) => run.metrics)) as PortableRun['metrics'];
    return [{ ...(Object.assign({}, ...own) as PortableRun), metrics }];
  });
}
