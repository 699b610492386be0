import { z } from 'zod';
import { experimentSchema } from './experiment.ts';
import { isObject } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';
import { presets } from './presets.ts';

/** JSON Schema of the file as people write it: what every preset supplies may be left out, and its description says so. */
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

/** Every integer is at most 2^53 - 1: true, and of no help to anybody in an editor. */
export function withoutLimitsOfIntegers<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map((item: unknown) => withoutLimitsOfIntegers(item)) as T;
  if (!isObject(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) =>
      !(
        (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
        (key === 'minimum' && value === Number.MIN_SAFE_INTEGER)
      ),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutLimitsOfIntegers(value)])) as T;
}
