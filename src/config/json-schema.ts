import { z } from 'zod';
import { expectation, isObject, withoutLimitsOfIntegers } from '../validation/json-schema.ts';
import type { JsonSchema } from '../validation/json-schema.ts';
import { experimentSchema } from './experiment.ts';
import { presets } from './presets.ts';

/**
 * JSON Schema of the file as people write it: what every preset supplies may be left out, and its description
 * says so.
 */
export function experimentJsonSchema(): object {
  const schema = z.toJSONSchema(experimentSchema, { io: 'input', target: 'draft-7' }) as JsonSchema;
  return supplied(withoutLimitsOfIntegers(schema), presets.paper, presets.tuned);
}

function supplied(schema: JsonSchema, paper: unknown, tuned: unknown): JsonSchema {
  if (paper === undefined && tuned === undefined) return schema;
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map((one) => supplied(one, paper, tuned)) };
  if (schema.properties === undefined || !isObject(paper) || !isObject(tuned))
    return described(schema, paper, tuned);
  const properties = Object.fromEntries(
    Object.entries(schema.properties).map(([key, property]) => [
      key,
      supplied(property, paper[key], tuned[key]),
    ]),
  );
  // A field that a preset supplies in part is required for the rest of it.
  const wanted = (key: string): boolean =>
    paper[key] === undefined || tuned[key] === undefined || (properties[key]?.required ?? []).length > 0;
  return { ...schema, ...(schema.required && { required: schema.required.filter(wanted) }), properties };
}

function described(schema: JsonSchema, paper: unknown, tuned: unknown): JsonSchema {
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
    const at = `${path}${key}`;
    const fallback =
      property.default === undefined
        ? required.has(key)
          ? 'required'
          : ''
        : `\`${JSON.stringify(property.default)}\``;
    yield {
      path: at,
      allowed: cell(expectation(property).replace(/^(allowed: |expected )/, '')),
      fallback,
      description: cell(property.description ?? ''),
    };
    yield* below(property, at);
  }
}

function* below(node: JsonSchema, path: string): Generator<Row> {
  yield* fields(node, `${path}.`);
  for (const one of node.anyOf ?? []) yield* below(one, path);
  for (const one of node.oneOf ?? []) yield* fields(one, `${path} (${String(one.properties?.type?.const)}).`);
}
