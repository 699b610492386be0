import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { evaluationJsonSchema, parseEvaluation } from '../../src/config/evaluation.ts';
import { fieldTable } from '../../src/config/json-schema.ts';

const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

// `npx vitest run test/config/evaluation-schema.test.ts -u` writes both anew.
test('the schema for editors, and the table of fields in docs/benchmarks.md', async () => {
  await expect(`${JSON.stringify(evaluationJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../experiments/evaluation.schema.json',
  );
  const [before = ''] = (await text('docs/benchmarks.md')).split('<!-- fields -->');
  await expect(`${before}<!-- fields -->\n\n${fieldTable(evaluationJsonSchema())}`).toMatchFileSnapshot(
    '../../docs/benchmarks.md',
  );
});

test.each(['evaluate-gold.json', 'evaluate-qwen2.5-7b.json'])(
  'experiments/%s names that schema, and is an evaluation',
  async (name) => {
    const file = JSON.parse(await text(`experiments/${name}`)) as Record<string, unknown>;
    expect(file.$schema).toBe('./evaluation.schema.json');
    expect(parseEvaluation(file)).toMatchObject({
      name: name.replace('.json', ''),
      temperature: 0,
      limit: null,
    });
  },
);

test.each([
  [undefined, 'evaluation: no input was given'],
  [[], 'evaluation: got []; expected an object'],
  [{ name: 'x', suites: ['a'] }, 'evaluation: policy: missing'],
  [{ name: 'x', policy: { type: 'gold' }, suites: [] }, 'evaluation: suites: got []'],
  [
    { name: 'x', policy: { type: 'gold' }, suites: ['a'], temprature: 1 },
    'evaluation: temprature: unknown field; did you mean "temperature"?',
  ],
  [
    { name: '.x', policy: { type: 'gold' }, suites: ['a'] },
    'evaluation: name: got ".x"; expected 1 to 68 letters',
  ],
  [
    { name: 'x', policy: { type: 'served', baseUrl: 'vllm', model: 'm' }, suites: ['a'] },
    'evaluation: policy.baseUrl: got "vllm"',
  ],
])('%j is refused', (raw, message) => {
  expect(() => parseEvaluation(raw)).toThrow(message);
});
