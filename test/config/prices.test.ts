import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parsePrices, pricesJsonSchema } from '../../src/config/prices.ts';

const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

// `npx vitest run test/config/prices.test.ts -u` writes it anew.
test('the schema for editors', async () => {
  await expect(`${JSON.stringify(pricesJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(
    '../../experiments/prices.schema.json',
  );
});

test('experiments/prices.json names that schema, which accepts it; it says when and where it was read', async () => {
  const file = JSON.parse(await text('experiments/prices.json')) as Record<string, unknown>;
  expect(file.$schema).toBe('./prices.schema.json');
  const editor = z.fromJSONSchema(pricesJsonSchema() as Parameters<typeof z.fromJSONSchema>[0]);
  expect(editor.safeParse(file).success).toBe(true);
  expect(parsePrices(file)).toMatchObject({ currency: 'USD', gpus: { serving: 1, training: 1 } });
  for (const field of ['date', 'source', 'currency'])
    expect(() => parsePrices({ ...file, [field]: undefined })).toThrow(`prices: ${field}: `);
  expect(() => parsePrices({ ...file, gpuHour: -1 })).toThrow(/prices: gpuHour: got -1/);
  expect(() => parsePrices({ ...file, gpuHours: 2 })).toThrow(/gpuHours/);
});
