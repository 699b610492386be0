import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { dialogueTokens } from '../../src/inference/character-tokens.ts';
import { canonicalJson } from '../../src/store/canonical-json.ts';
import { batchRecord } from '../../src/training/job-settings.ts';
import type { Sampled, TraceRecord, TurnRecord } from '../../src/types/records.ts';
import { exitSchema, progressSchema, resultSchema, trainingJobSchema } from '../../src/types/training-job.ts';

const folder = join(import.meta.dirname, 'fixtures');
const names = readdirSync(folder);

/** The values of a fixture: one, or one a line. */
function read(name: string): unknown[] {
  const text = readFileSync(join(folder, name), 'utf8');
  return name.endsWith('.jsonl') ? lines(text).map((line): unknown => JSON.parse(line)) : [JSON.parse(text)];
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const readers: { files: RegExp; schema: z.ZodType }[] = [
  { files: /^job-.*\.json$/, schema: trainingJobSchema },
  { files: /^progress\.jsonl$/, schema: progressSchema },
  { files: /^result-.*\.json$/, schema: resultSchema },
  { files: /^exit.*\.json$/, schema: exitSchema },
];

describe.each(readers)('$files', ({ files, schema }) => {
  const values = names.filter((name) => files.test(name)).flatMap(read);

  it('is what the schema reads', () => {
    expect(values).not.toEqual([]);
    for (const value of values) expect(schema.safeParse(value).error).toBeUndefined();
  });

  it('has every field of the schema', () => {
    const present = new Set(values.flatMap((value) => fieldsOf(value)));
    const required = schemaFields(z.toJSONSchema(schema, { io: 'input' }));
    expect(required.filter((field) => !present.has(field))).toEqual([]);
  });
});

it('has a job of every kind', () => {
  const kinds = names.filter((name) => name.startsWith('job-')).flatMap(read) as { kind: string }[];
  expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(trainingJobSchema.shape.kind.options.toSorted());
});

type Key = string | number;
interface Mutation {
  fixture: string;
  mutation: { path: Key[]; value?: unknown; remove?: true };
  field: string;
}

const mutations = (read('mutations.json') as [Mutation[]])[0].flatMap((mutation) => {
  const reader = readers.find(({ files }) => files.test(mutation.fixture));
  return reader === undefined ? [] : [{ ...mutation, schema: reader.schema }];
});

it.each(mutations)(
  'refuses $mutation of $fixture, and names $field',
  ({ fixture, mutation, field, schema }) => {
    const [issue] = schema.safeParse(mutated(read(fixture)[0], mutation)).error?.issues ?? [];
    const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue?.path;
    expect(path && dotted(path)).toBe(field);
  },
);

function mutated(value: unknown, { path, value: replacement, remove }: Mutation['mutation']): unknown {
  let parent = value as Record<Key, unknown>;
  for (const key of path.slice(0, -1)) parent = parent[key] as Record<Key, unknown>;
  if (remove) Reflect.deleteProperty(parent, path.at(-1)!);
  else parent[path.at(-1)!] = replacement;
  return value;
}

function dotted(path: readonly PropertyKey[]): string {
  const parts = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`));
  return parts.join('').replace(/^\./, '');
}

/** Dotted names of all fields in a value; elements of a list share theirs. */
function fieldsOf(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOf(item, prefix));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    `${prefix}${key}`,
    ...fieldsOf(inner, `${prefix}${key}.`),
  ]);
}

function schemaFields(schema: z.core.JSONSchema._JSONSchema, prefix = ''): string[] {
  if (typeof schema === 'boolean') return [];
  const variants = [...(schema.anyOf ?? []), ...(schema.items === undefined ? [] : [schema.items].flat())];
  const properties = Object.entries(schema.properties ?? {});
  return [
    ...variants.flatMap((variant) => schemaFields(variant, prefix)),
    ...properties.flatMap(([key, inner]) => [`${prefix}${key}`, ...schemaFields(inner, `${prefix}${key}.`)]),
  ];
}

describe('batches', () => {
  const traces = read('traces.jsonl') as TraceRecord[];

  it.each(['grpo', 'gradient_norms', 'rwr'])('of %s are what traces become', (kind) => {
    const texts = lines(readFileSync(join(folder, `batch-${kind}.jsonl`), 'utf8'));
    for (const [index, text] of texts.entries()) {
      const { step, group_id, env_name, advantage, weight } = JSON.parse(text) as Parameters<
        typeof batchRecord
      >[1];
      const record = batchRecord(traces[index]!.sampled, { step, group_id, env_name, advantage, weight });
      expect(canonicalJson(record)).toBe(text);
    }
    expect(texts).toHaveLength(traces.length);
  });

  it('come from traces with every field', () => {
    const trace = {
      id: 1,
      task_id: 1,
      role: 1,
      sampled: 1,
      turns: 1,
      random_similarities: 1,
    } satisfies Record<keyof TraceRecord, 1>;
    const turn = { seed: 1, action: 1, wording: 1, observation: 1, consistent: 1 } satisfies Record<
      keyof TurnRecord,
      1
    >;
    const sampled = {
      policy_version: 1,
      seed: 1,
      temperature: 1,
      prompt_token_ids: 1,
      token_ids: 1,
      logprobs: 1,
      text: 1,
      finish_reason: 1,
      mask: 1,
      similarity: 1,
    } satisfies Record<keyof Sampled, 1>;
    const fields = fieldsOf({ ...trace, sampled, turns: turn });
    expect([...new Set(traces.flatMap((value) => fieldsOf(value)))].toSorted()).toEqual(fields.toSorted());
  });
});

describe('characters', () => {
  const [{ vocabulary, dialogues, refused }] = read('characters.json') as [
    {
      vocabulary: string[];
      dialogues: { texts: string[]; token_ids: number[]; mask: number[] }[];
      refused: string[];
    },
  ];

  it.each(dialogues)('of $texts have the ids of the fixture', ({ texts, ...expected }) => {
    expect(dialogueTokens(texts, vocabulary)).toEqual(expected);
  });

  it.each(refused)('outside the vocabulary are refused: %s', (text) => {
    expect(() => dialogueTokens([text], vocabulary)).toThrow(RangeError);
  });

  it('make the supervised batch of tokens', () => {
    const [, record] = read('batch-supervised.jsonl');
    const { token_ids, mask } = dialogues[1]!;
    expect(record).toEqual({ step: 1, token_ids, mask, weight: 1 });
  });
});
