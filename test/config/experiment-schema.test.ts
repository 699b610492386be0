import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { experimentJsonSchema, fieldTable } from '../../src/config/json-schema.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { JsonSchema } from '../../src/validation/json-schema.ts';
import { exampleFile, experimentFile, withFields } from '../../test-support/experiments.ts';

const schema: JsonSchema = experimentJsonSchema();
const editor = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
const accepts = (file: unknown): boolean => editor.safeParse(file).success;

/** All schemas below one, with their paths. */
function* fields(node: JsonSchema, path: string): Generator<[string, JsonSchema]> {
  for (const variant of [...(node.anyOf ?? []), ...(node.oneOf ?? [])]) yield* fields(variant, path);
  for (const [key, property] of Object.entries(node.properties ?? {})) {
    yield [`${path}.${key}`, property];
    yield* fields(property, `${path}.${key}`);
  }
}

describe('the schema for editors', () => {
  // `npx vitest run test/config/experiment-schema.test.ts -u` writes both files anew.
  it('is the one in experiments/', async () => {
    await expect(`${JSON.stringify(schema, null, 2)}\n`).toMatchFileSnapshot(
      '../../experiments/experiment.schema.json',
    );
  });

  it('is what docs/experiment-files.md lists', async () => {
    const doc = await readFile(new URL('../../docs/experiment-files.md', import.meta.url), 'utf8');
    const [before = ''] = doc.split('<!-- fields -->');
    await expect(`${before}<!-- fields -->\n\n${fieldTable(schema)}`).toMatchFileSnapshot(
      '../../docs/experiment-files.md',
    );
  });

  it.each([
    'laptop',
    'paper-laptop',
    'random-laptop',
    'chainops-nightly',
    'minidesk',
    'alfworld',
    'search',
    'qwen2.5-7b',
    'best-of-n-api',
    'api-simulator',
    'calls',
    'calls-traces',
    'calls-worded',
    'services',
    'services-smollm2',
    'travel',
  ])('accepts experiments/%s.json', (name) => {
    expect(accepts(experimentFile(name))).toBe(true);
    expect(() => parseExperiment(experimentFile(name))).not.toThrow();
  });

  it('accepts large models on vLLM, trained, and an API model that is not', () => {
    expect(parseExperiment(experimentFile('qwen2.5-7b'))).toMatchObject({
      world: { type: 'language', format: 'chatml' },
      serving: { publish: 'vllm-lora', returnsTokenIds: true },
      environment: { training: { lambda: 5 } },
    });
    expect(parseExperiment(experimentFile('best-of-n-api'))).toMatchObject({
      arm: { type: 'best-of-n', lambda: 5 },
      environment: { training: null },
      agent: { training: null },
    });
    expect(parseExperiment(experimentFile('api-simulator'))).toMatchObject({
      serving: { publish: 'vllm-lora' },
      environment: { training: null, serving: { api: 'chat' } },
      world: { vote: { solver: { model: 'gpt-4o-mini' } } },
      agent: { training: { lossType: 'dapo' } },
    });
  });

  it('accepts what a run keeps: the resolved file', () => {
    expect(accepts(parseExperiment(exampleFile))).toBe(true);
  });

  it('refuses unknown fields, wrong types and values out of range', () => {
    for (const wrong of [
      { epohcs: 1 },
      { seed: '0' },
      { epochs: 0 },
      { 'arm.type': 'x' },
      { 'agent.training.lossType': 'ppo' },
      { 'world.baseLengths': [1] },
    ])
      expect(accepts(withFields(exampleFile, wrong))).toBe(false);
  });

  it('requires what no preset supplies, and nothing else', () => {
    expect(schema.required).toEqual(['name', 'seed', 'epochs', 'arm', 'world', 'environment', 'agent']);
    expect(schema.properties?.environment?.required).toEqual(['model', 'sampling', 'promptsPerEpoch']);
    expect(schema.properties?.agent?.required).toEqual(['model', 'sampling']);
    for (const field of ['difficulty', 'pools', 'guards'])
      expect(schema.properties?.[field]?.required ?? []).toEqual([]);
    for (const key of [
      'name',
      'seed',
      'epochs',
      'arm',
      'world',
      'environment',
      'agent',
      'environment.model',
      'environment.sampling',
      'environment.promptsPerEpoch',
      'agent.model',
      'agent.sampling',
    ]) {
      const without = withFields(exampleFile, { [key]: undefined });
      expect(accepts(without)).toBe(false);
      expect(() => parseExperiment(without)).toThrow(key);
    }
  });

  it('describes every field, and says what the presets supply', () => {
    const undescribed = [...fields(schema, '')]
      .filter(
        ([path, { description, const: only }]) =>
          description === undefined && only === undefined && !path.endsWith('.type'),
      )
      .map(([path]) => path);
    expect(undescribed).toEqual([]);
    expect(schema.properties?.difficulty?.properties?.beta?.description).toMatch(
      /Presets: paper 2, tuned 8\.$/,
    );
    expect(schema.properties?.evaluation?.properties?.every).toMatchObject({
      default: 5,
      exclusiveMinimum: 0,
    });
    expect(JSON.stringify(schema)).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });
});
