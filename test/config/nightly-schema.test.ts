import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fieldTable } from '../../src/config/json-schema.ts';
import { nightlyJsonSchema, parseNightly } from '../../src/config/nightly.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { refusalOf } from '../../test-support/refusals.ts';

const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

// `npx vitest run test/config/nightly-schema.test.ts -u` writes both anew.
test('the schema for editors, and the table of fields in docs/schedules.md', async () => {
  await expect(`${JSON.stringify(nightlyJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../experiments/nightly.schema.json',
  );
  const [before = ''] = (await text('docs/schedules.md')).split('<!-- fields -->');
  await expect(`${before}<!-- fields -->\n\n${fieldTable(nightlyJsonSchema())}`).toMatchFileSnapshot(
    '../../docs/schedules.md',
  );
});

test('experiments/nightly.json names that schema, which accepts it and refuses an unknown field', async () => {
  const file = JSON.parse(await text('experiments/nightly.json')) as Record<string, unknown>;
  expect(file.$schema).toBe('./nightly.schema.json');
  const editor = z.fromJSONSchema(nightlyJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
  expect(editor.safeParse(file).success).toBe(true);
  expect(editor.safeParse({ ...file, epochPerNight: 2 }).success).toBe(false);
});

const plain = { name: 'nights', experiment: { ...exampleFile, epochs: 5 } };
const startFrom = { run: 'some-run', epoch: 5 };
const evaluated = { 'evaluation.benchmarks': { every: 1, suites: ['bamboogle_closedbook'] } };
const pretrained = { type: 'pretrained', path: '/models/some', adapter: {} };

test.each<[string, object, string]>([
  [
    'more attempts than the policy server answers at once',
    {
      ...plain,
      evaluation: { samples: 513 },
      experiment: withFields(exampleFile, { 'durability.promptsPerRequest': 8 }),
    },
    'evaluation.samples: got 513; expected at most 512, since a request has 8 prompts',
  ],
  [
    'no epoch after its start',
    { ...plain, experiment: { ...plain.experiment, startFrom } },
    'experiment.epochs: got 5; expected more than experiment.startFrom.epoch (5)',
  ],
  [
    'a name that leaves no room for the ids of evaluations',
    {
      ...plain,
      name: 'n'.repeat(36),
      experiment: withFields(exampleFile, { ...evaluated, 'agent.model': pretrained }),
    },
    `name: got "${'n'.repeat(36)}"; expected at most 35 characters`,
  ],
])('a nightly file with %s is refused, whose nights could only fail', (_, file, problem) => {
  expect(refusalOf(parseNightly, file)).toContain(`nightly: ${problem}`);
});

test('a nightly file at these limits is accepted', () => {
  const experiment = withFields(exampleFile, {
    ...evaluated,
    'agent.model': pretrained,
    'durability.promptsPerRequest': 8,
    epochs: 6,
    startFrom,
  });
  const file = { name: 'n'.repeat(35), evaluation: { samples: 512 }, experiment };
  expect(refusalOf(parseNightly, file)).toBe('accepted');
});
