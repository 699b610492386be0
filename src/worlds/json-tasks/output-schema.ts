import { z } from 'zod';
import { isObject } from '../../validation/json-schema.ts';

/**
 * JSON Schemas of what a simulator may write, for servers with structured outputs (`World.taskSchema`). They
 * keep to what grammar compilers can say, so that a server neither refuses a schema nor ignores a part of it.
 * Checked with xgrammar 0.2.8 behind vLLM 0.32, which has no text with both a pattern and a length, no name
 * pattern beside named properties, no uniqueness, no multiples and no `allOf`.
 */

/** Numbers without bounds have exponents, so `1e999`, which is infinite in JSON. */
export const boundedNumber = z.number().min(-1e15).max(1e15);

/** A list of exactly these items. */
export const listOf = (items: readonly z.ZodType[]): z.ZodType => z.tuple(items as [z.ZodType]);

/**
 * The schema of a text that is one of these kinds. Properties come in the order of canonical JSON, in which
 * prompts show tasks: servers make models write them in the schema's order.
 */
export function toOutputSchema(kinds: readonly z.ZodType[]): Record<string, unknown> {
  const { anyOf, ...schema } = simplify(z.toJSONSchema(z.union(kinds), { io: 'input' })) as {
    anyOf: object[];
    $defs?: object;
  };
  // OpenAI's API wants an object at the root.
  return { type: 'object', ...(anyOf.length === 1 ? anyOf[0] : { anyOf }), ...schema };
}

function simplify(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(simplify);
  if (!isObject(node)) return node;
  const { properties, ...rules } = node;
  // A property may have any of these names.
  const dropped = ['$schema', ...(rules.pattern === undefined ? [] : ['format'])];
  const kept = Object.entries(rules).filter(([keyword]) => !dropped.includes(keyword));
  return {
    ...mapFields(Object.fromEntries(kept), simplify),
    ...(isObject(properties) && { properties: sortByName(mapFields(properties, simplify)) }),
  };
}

const mapFields = (fields: object, convert: (value: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, convert(value)]));

const sortByName = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).sort(([left], [right]) => (left < right ? -1 : 1)));
