import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fieldTable } from '../../src/config/json-schema.ts';
import { nightlyJsonSchema } from '../../src/config/nightly.ts';

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
