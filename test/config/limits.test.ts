import { describe, expect, it, test } from 'vitest';
import { comparisonJsonSchema } from '../../src/config/comparison.ts';
import { evaluationJsonSchema } from '../../src/config/evaluation.ts';
import { experimentJsonSchema } from '../../src/config/json-schema.ts';
import { nightlyJsonSchema } from '../../src/config/nightly.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { isObject } from '../../src/validation/json-schema.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

/** Fields whose size harms nothing, with the reason. */
const harmless: readonly [RegExp, string][] = [
  [/\.(seed|generatorSeed)$/, 'a number that others derive from, whatever its size'],
];

/** Paths of a schema's fields that have no upper limit. */
function* unlimited(schema: unknown, path = ''): Generator<string> {
  if (!isObject(schema)) return;
  const { type, properties, items, anyOf, oneOf, allOf, additionalProperties } = schema;
  const types = [type].flat();
  const isChoice = schema.enum !== undefined || schema.const !== undefined;
  if (!isChoice) {
    if (
      (types.includes('number') || types.includes('integer')) &&
      schema.maximum === undefined &&
      schema.exclusiveMaximum === undefined
    )
      yield path;
    const isBoundedPattern = typeof schema.pattern === 'string' && /\{\d*,?\d+\}\$$/.test(schema.pattern);
    if (types.includes('string') && schema.maxLength === undefined && !isBoundedPattern) yield path;
    if (types.includes('array') && schema.maxItems === undefined && !Array.isArray(items)) yield path;
  }
  for (const [name, field] of Object.entries(isObject(properties) ? properties : {}))
    yield* unlimited(field, `${path}.${name}`);
  for (const option of [anyOf, oneOf, allOf, Array.isArray(items) ? items : [items]].flat())
    yield* unlimited(option, path);
  yield* unlimited(additionalProperties, `${path}.*`);
}

describe.each([
  ['an experiment', experimentJsonSchema],
  ['a comparison', comparisonJsonSchema],
  ['an evaluation', evaluationJsonSchema],
  ['a nightly curriculum', nightlyJsonSchema],
])('the file of %s', (_, schema) => {
  it('has an upper limit for each number, text and list', () => {
    const paths = [...new Set(unlimited(schema()))];
    expect(paths.filter((path) => !harmless.some(([pattern]) => pattern.test(path)))).toEqual([]);
  });
});

test('the walk finds fields without a limit', () => {
  expect([
    ...unlimited({
      properties: {
        a: { type: 'integer', minimum: 0 },
        b: { type: 'string', minLength: 1 },
        c: { anyOf: [{ type: 'array', items: { type: 'number' } }, { type: 'null' }] },
        d: { type: 'number', maximum: 3 },
      },
    }),
  ]).toEqual(['.a', '.b', '.c', '.c']);
});

test.each([
  ['world.baseTasks', 1e9],
  ['world.heldOutPerCell', 1e9],
  ['environment.promptsPerEpoch', 2 ** 53 - 1],
  ['agent.rolloutsPerTask', 2 ** 53 - 1],
  ['evaluation.samples', 1e9],
  ['trainer.threads', 1e9],
  ['durability.requestTimeoutSeconds', 1e300],
])('%s: %d is refused, with what is allowed', (field, value) => {
  expect(() => parseExperiment(withFields(exampleFile, { [field]: value }))).toThrow(
    new RegExp(`${field}: got .*expected .* (to|at most) \\d+`),
  );
});

test('fields within their limits are refused if their product is not', () => {
  const fields = { 'environment.promptsPerEpoch': 100_000, 'agent.rolloutsPerTask': 1_024 };
  expect(() => parseExperiment(withFields(exampleFile, fields))).toThrow(
    /environment\.promptsPerEpoch: got 100000; .* rollouts, expected at most 10000000/,
  );
  const clusters = { 'environment.promptsPerEpoch': 9_000, 'guards.clusterDistance': 0.3 };
  expect(() => parseExperiment(withFields(exampleFile, clusters))).toThrow(
    /guards\.clusterDistance: got 0\.3; an epoch has \d+ tasks, expected at most 4096/,
  );
});
