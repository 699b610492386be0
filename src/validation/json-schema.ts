/** As much of JSON Schema (draft 7) as the schema of an experiment file uses. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema | JsonSchema[];
  minItems?: number;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  format?: string;
}

type Json = Record<string, unknown>;
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value under a path; undefined if the path leaves the value. */
export const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (value, key) => (value === null || value === undefined ? undefined : (value as Json)[key as string]),
    root,
  );

/** The schema of the field under a path, given the value itself: its `type` fields choose the variants. */
export function schemaAt(
  schema: JsonSchema,
  value: unknown,
  path: readonly PropertyKey[],
): JsonSchema | undefined {
  const node = variant(schema, value);
  const [key, ...rest] = path;
  if (key === undefined) return node;
  const child = typeof key === 'number' ? itemSchema(node, key) : node.properties?.[key as string];
  return child && schemaAt(child, valueAt(value, [key]), rest);
}

const itemSchema = ({ items }: JsonSchema, index: number): JsonSchema | undefined =>
  Array.isArray(items) ? items[index] : items;

/**
 * The variant that the value's `type` chooses, or that is a list if it is one; the schema itself if it has no
 * variants, or none is chosen.
 */
function variant(schema: JsonSchema, value: unknown): JsonSchema {
  if (Array.isArray(value)) return schema.anyOf?.find(({ type }) => type === 'array') ?? schema;
  const unlessNull = schema.anyOf?.find(({ type }) => type !== 'null');
  if (unlessNull && isObject(value)) return variant(unlessNull, value);
  const chosen = isObject(value)
    ? schema.oneOf?.find(({ properties }) => properties?.type?.const === value.type)
    : undefined;
  return chosen ?? schema;
}

const show = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(', ');

/** The allowed values of a field, for a message: `expected a whole number from 1 to 12`. */
export function expectation(schema: JsonSchema): string {
  const { choices, nullable } = alternatives(schema);
  if (choices.length > 0) return `allowed: ${show(nullable ? [...choices, null] : choices)}`;
  return `expected ${noun(schema)}`;
}

function alternatives(schema: JsonSchema): { choices: readonly unknown[]; nullable: boolean } {
  const nullable = schema.anyOf?.some(({ type }) => type === 'null') ?? false;
  const inner = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
  return { choices: choicesOf(inner), nullable };
}

function choicesOf(schema: JsonSchema): readonly unknown[] {
  if (schema.enum) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  return schema.type === 'boolean' ? [true, false] : [];
}

function noun(schema: JsonSchema): string {
  if (schema.oneOf) {
    const types = schema.oneOf.map(({ properties }) => JSON.stringify(properties?.type?.const));
    return `an object whose "type" is ${types.join(' or ')}`;
  }
  if (schema.anyOf)
    return schema.anyOf.map((option) => (option.type === 'null' ? 'null' : noun(option))).join(' or ');
  const [type = 'object', ...alternativeTypes] = [schema.type ?? 'object'].flat();
  return alternativeTypes.includes('null') ? `${nounOfType(type, schema)} or null` : nounOfType(type, schema);
}

function nounOfType(type: string, schema: JsonSchema): string {
  switch (type) {
    case 'number':
      return `a number${range(schema)}`;
    case 'integer':
      return `a whole number${range(schema)}`;
    case 'string':
      return text(schema);
    case 'array':
      return list(schema);
    default:
      return 'an object';
  }
}

function text({ format, minLength }: JsonSchema): string {
  if (format === 'uri') return 'a URL such as "http://127.0.0.1:8000/v1"';
  if (format === 'date') return 'a date such as "2026-11-22"';
  return minLength === undefined ? 'text' : 'text that is not empty';
}

function list({ items, minItems }: JsonSchema): string {
  if (Array.isArray(items)) return `a list of ${items.length}, each ${noun(items[0] ?? {})}`;
  const item = items?.enum ? `one of ${show(items.enum)}` : noun(items ?? {});
  return minItems === undefined
    ? `a list of ${item}`
    : `a list with at least ${minItems} entry, each ${item}`;
}

function range({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchema): string {
  const least = type === 'integer' && exclusiveMinimum !== undefined ? exclusiveMinimum + 1 : minimum;
  const low = least === undefined || least === Number.MIN_SAFE_INTEGER ? undefined : least;
  const high = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (low !== undefined && high !== undefined) return ` from ${figure(low)} to ${figure(high)}`;
  const bounds = [
    ...(exclusiveMinimum === undefined ? [] : [`above ${figure(exclusiveMinimum)}`]),
    ...(low === undefined || exclusiveMinimum !== undefined ? [] : [`of at least ${figure(low)}`]),
    ...(high === undefined ? [] : [`at most ${figure(high)}`]),
    ...(exclusiveMaximum === undefined ? [] : [`below ${figure(exclusiveMaximum)}`]),
  ];
  return bounds.length === 0 ? '' : ` ${bounds.join(' and ')}`;
}

/** A number as people read it: `1,000,000`. */
const figure = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 20 });

/** Removes the limits of safe integers, which help nobody in an editor. */
export function withoutLimitsOfIntegers<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map((item: unknown) => withoutLimitsOfIntegers(item)) as T;
  if (!isObject(schema)) return schema;
  const isLimit = (key: string, value: unknown): boolean =>
    (key === 'maximum' && value === Number.MAX_SAFE_INTEGER) ||
    (key === 'minimum' && value === Number.MIN_SAFE_INTEGER);
  const kept = Object.entries(schema).filter(([key, value]) => !isLimit(key, value));
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutLimitsOfIntegers(value)])) as T;
}
