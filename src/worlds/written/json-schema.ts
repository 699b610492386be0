import { z } from 'zod';
import { isObject } from '../../contracts/json-schema.ts';

/**
 * A schema for servers that can hold a model to one: forms and names alone. Grammar compilers know no lengths or rules for names of members;
 * those are checked when the text is read.
 */
export const formSchema = (schema: z.ZodType): Record<string, unknown> =>
  withoutRules(z.toJSONSchema(schema, { io: 'input' })) as Record<string, unknown>;

const rules = new Set([
  '$schema',
  'pattern',
  'propertyNames',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
]);

function withoutRules(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutRules);
  if (!isObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node).flatMap(([key, value]) => (rules.has(key) ? [] : [[key, withoutRules(value)]])),
  );
}
