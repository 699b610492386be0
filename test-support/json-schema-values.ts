import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';

/** As much of JSON Schema as the schemas of worlds use. */
export interface OutputSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: OutputSchema[];
  $ref?: string;
  $defs?: Record<string, OutputSchema>;
  properties?: Record<string, OutputSchema>;
  required?: string[];
  propertyNames?: { pattern: string };
  additionalProperties?: boolean | OutputSchema;
  items?: boolean | OutputSchema;
  prefixItems?: OutputSchema[];
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  pattern?: string;
}

/** References below which a choice takes its first form and lists are as short as they may be. */
const MAX_DEPTH = 4;
/** Letters, what JSON escapes, spaces and a letter beyond ASCII, each one UTF-16 unit. */
const character = fc.constantFrom(...'abcdeXYZ0189 .,-\'"\\\n\té漢');

/** Values that a schema admits; texts and lists are mostly short, and now and then as long as they may be. */
export function valuesOf(root: OutputSchema): Arbitrary<unknown> {
  const memo = new Map<string, Arbitrary<unknown>>();
  const referenced = ($ref: string, depth: number): Arbitrary<unknown> => {
    const key = `${$ref} ${depth}`;
    const values = memo.get(key) ?? build(root.$defs![$ref.replace('#/$defs/', '')]!, depth + 1);
    memo.set(key, values);
    return values;
  };
  const build = (schema: OutputSchema, depth: number): Arbitrary<unknown> => {
    if (schema.$ref !== undefined) return referenced(schema.$ref, depth);
    if (schema.anyOf !== undefined) {
      const forms = depth > MAX_DEPTH ? schema.anyOf.slice(0, 1) : schema.anyOf;
      return fc.oneof(...forms.map((form) => build(form, depth)));
    }
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    switch (schema.type) {
      case 'string':
        return text(schema);
      case 'integer':
        return fc.integer(range(schema));
      case 'number':
        return fc.oneof(
          fc.integer({ min: Math.max(schema.minimum!, -100), max: Math.min(schema.maximum!, 100) }),
          fc.double({ min: schema.minimum!, max: schema.maximum!, noNaN: true }),
        );
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      case 'array':
        return array(schema, depth);
      case 'object':
        return object(schema, depth);
      default:
        throw new Error(`no values of ${JSON.stringify(schema).slice(0, 200)}`);
    }
  };
  const array = (schema: OutputSchema, depth: number): Arbitrary<unknown> => {
    const { prefixItems, items, minItems = 0, maxItems = 12 } = schema;
    if (prefixItems !== undefined) return fc.tuple(...prefixItems.map((item) => build(item, depth)));
    if (maxItems === 0) return fc.constant([]);
    const item = build(items as OutputSchema, depth);
    const few = depth > MAX_DEPTH ? minItems : Math.min(minItems + 2, maxItems);
    return fc.oneof(
      { weight: 19, arbitrary: fc.array(item, { minLength: minItems, maxLength: few }) },
      { weight: depth > 1 ? 0 : 1, arbitrary: fc.array(item, { minLength: maxItems, maxLength: maxItems }) },
    );
  };
  const object = (schema: OutputSchema, depth: number): Arbitrary<unknown> => {
    const { properties, required = [], propertyNames, additionalProperties } = schema;
    if (properties === undefined)
      return fc.dictionary(
        fc.stringMatching(new RegExp(propertyNames!.pattern)),
        build(additionalProperties as OutputSchema, depth),
        { maxKeys: depth > MAX_DEPTH ? 0 : 3, noNullPrototype: true },
      );
    const fields = Object.entries(properties).filter(
      ([name]) => depth <= MAX_DEPTH || required.includes(name),
    );
    return fc.record(Object.fromEntries(fields.map(([name, field]) => [name, build(field, depth)])), {
      requiredKeys: required,
      noNullPrototype: true,
    });
  };
  return build(root, 0);
}

const range = ({ minimum: min, maximum: max }: OutputSchema): { min?: number; max?: number } => ({
  ...(min !== undefined && { min }),
  ...(max !== undefined && { max }),
});

function text({ pattern, minLength = 0, maxLength }: OutputSchema): Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const short = fc.string({
    unit: character,
    minLength,
    maxLength: Math.min(minLength + 12, maxLength ?? 12),
  });
  return fc.oneof(
    { weight: 19, arbitrary: short },
    { weight: 1, arbitrary: fc.constantFrom(' ', 'x').map((unit) => unit.repeat(maxLength ?? 12)) },
  );
}
