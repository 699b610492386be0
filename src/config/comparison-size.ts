/** How large a comparison may be: what its arms share is merged, checked and kept once for each of them. */
import { countValues } from '../validation/input-size.ts';

const MAX_RUNS = 200;
/** As many as a file may have: merging and checking them takes seconds in which nothing else is done. */
const MAX_MERGED_VALUES = 100_000;

/** `<field>: got <figure>; <what is allowed>`; undefined if nothing is too large. */
export function comparisonSizeProblem(
  seeds: readonly number[],
  experiment: object,
  overrides: Readonly<Record<string, object>>,
): string | undefined {
  const arms = Object.keys(overrides).length;
  if (arms === 0) return 'arms: got {}; expected at least one arm';
  if (arms * seeds.length > MAX_RUNS)
    return `seeds: got ${seeds.length} for ${arms} arms; expected at most ${MAX_RUNS} runs`;
  const values = arms * countValues(experiment) + countValues(overrides);
  return values > MAX_MERGED_VALUES
    ? `arms: got ${arms}, whose experiments have ${figure(values)} values together; ` +
        `expected at most ${figure(MAX_MERGED_VALUES)}`
    : undefined;
}

const figure = (count: number): string => count.toLocaleString('en-US');
