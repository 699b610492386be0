/** Files that are larger than any that people write: whoever may start a workflow chooses their content. */
import { describe, expect, it, test } from 'vitest';
import { parseComparison } from '../../src/config/comparison.ts';
import { parseEvaluation } from '../../src/config/evaluation.ts';
import { parseNightly } from '../../src/config/nightly.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { checkArguments, InvalidInput } from '../../src/validation/checked-input.ts';
import { experimentSchema } from '../../src/config/experiment.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';

const nested = (depth: number): unknown => JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));

describe.each([
  ['experiment', parseExperiment],
  ['comparison', parseComparison],
  ['evaluation', parseEvaluation],
  ['nightly', parseNightly],
])('a file of %s', (kind, parse) => {
  it('is refused for its depth, before anything walks it', () => {
    for (const raw of [nested(200_000), JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))])
      expect(refusalOf(parse, raw)).toBe(
        `${kind}: it is nested deeper than 64 levels; expected the content of a file of this project`,
      );
  });

  it('is refused for the number of its values, and for the length of a name', () => {
    const many = Object.fromEntries(Array.from({ length: 100_001 }, (_, index) => [`f${index}`, 0]));
    expect(refusalOf(parse, many)).toMatch(new RegExp(`^${kind}: it has more than 100,000 values;`));
    expect(refusalOf(parse, { ['f'.repeat(1_001)]: 0 })).toMatch(/the name of a field has more than 1,000/);
  });

  it('with many unknown fields has the first 20 described, and the others counted', () => {
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`unknown${index}`, 0]));
    const lines = refusalOf(parse, unknown).split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toMatch(new RegExp(`^${kind}: \\d+ more problems$`));
  });
});

test('a field with a long name is shown in part, and compared with no other name', () => {
  const line = refusalOf(parseExperiment, { ...exampleFile, [`${'e'.repeat(999)}s`]: 1 });
  expect(line).toMatch(/^experiment: e{80}\.\.\.: unknown field; allowed: \$schema, name, /);
  expect(refusalOf(parseExperiment, { ...exampleFile, epoch: 1 })).toContain('did you mean "epochs"?');
});

test('the settings of a world of somebody else may be 60 levels deep', () => {
  const world = { type: 'external', name: 'x', settings: { deep: nested(60) } };
  expect(parseExperiment(withFields(exampleFile, { world })).world).toMatchObject(world);
});

test('an argument of an activity that is nested too deeply is refused for good', () => {
  expect(() => checkArguments('activity a', [experimentSchema], [nested(200_000)])).toThrow(InvalidInput);
});
