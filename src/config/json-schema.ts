import { z } from 'zod';
import { expectation, isObject, withoutLimitsOfIntegers } from '../validation/json-schema.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { experimentSchema } from './experiment.ts';
import { presets } from './presets.ts';

/** JSON Schema of the file as people write it: fields that every preset supplies are optional, and say so. */
export function experimentJsonSchema(): object {
  const schema = z.toJSONSchema(experimentSchema, { io: 'input', target: 'draft-7' }) as JsonSchema;
  return withPresets(withoutLimitsOfIntegers(schema), presets.paper, presets.tuned);
}

function withPresets(schema: JsonSchema, paper: unknown, tuned: unknown): JsonSchema {
  if (paper === undefined && tuned === undefined) return schema;
  if (!isObject(paper) || !isObject(tuned)) return describePresets(schema, paper, tuned);
  if (schema.anyOf)
    return { ...schema, anyOf: schema.anyOf.map((option) => withPresets(option, paper, tuned)) };
  if (schema.properties === undefined) return describePresets(schema, paper, tuned);
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([key, property]) => [
      key,
      withPresets(property, paper[key], tuned[key]),
    ]),
  );
  // A field that a preset supplies only in part is required for the rest.
  const isRequired = (key: string): boolean =>
    paper[key] === undefined || tuned[key] === undefined || (properties[key]?.required ?? []).length > 0;
  return { ...schema, ...(schema.required && { required: schema.required.filter(isRequired) }), properties };
}

function describePresets(schema: JsonSchema, paper: unknown, tuned: unknown): JsonSchema {
  if (schema.type === 'null') return schema;
  const values = Object.entries({ paper, tuned }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} ${JSON.stringify(value)}`],
  );
  return { ...schema, description: `${schema.description ?? ''} Presets: ${values.join(', ')}.`.trim() };
}

/** The fields of a schema as a Markdown table, for docs/experiment-files.md. */
export function fieldTable(schema: JsonSchema): string {
  const rows = [...fields(schema, '')].map(
    ({ path, allowed, fallback, description }) =>
      `| \`${path}\` | ${allowed} | ${fallback} | ${description} |`,
  );
  return ['| field | allowed | default | meaning |', '| --- | --- | --- | --- |', ...rows, '']
    .join('\n')
    .replaceAll('\u00a0', ' ');
}

interface Row {
  path: string;
  allowed: string;
  fallback: string;
  description: string;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function* fields(node: JsonSchema, path: string): Generator<Row> {
  const required = new Set(node.required);
  for (const [key, property] of Object.entries(node.properties ?? {})) {
    if (key === '$schema' || property.const !== undefined) continue;
    const fieldPath = `${path}${key}`;
    const absent = required.has(key) ? 'required' : '';
    yield {
      path: fieldPath,
      allowed: cell(expectation(property).replace(/^(allowed: |expected )/, '')),
      fallback: property.default === undefined ? absent : `\`${JSON.stringify(property.default)}\``,
      description: cell(property.description ?? ''),
    };
    yield* nestedFields(property, fieldPath);
  }
}

function* nestedFields(node: JsonSchema, path: string): Generator<Row> {
  yield* fields(node, `${path}.`);
  for (const option of node.anyOf ?? []) yield* nestedFields(option, path);
  for (const variant of node.oneOf ?? [])
    yield* fields(variant, `${path} (${String(variant.properties?.type?.const)}).`);
}
