import type { z } from 'zod';
import { expectation, schemaAt, valueAt } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';
import { nearestName } from './nearest-name.ts';

/** A value as a message shows it. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** A path as people write it: `world.baseLengths[1]`. */
const dotted = (path: readonly PropertyKey[]): string =>
  path
    .map((key, index) =>
      typeof key === 'number' ? `[${key}]` : index === 0 ? String(key) : `.${String(key)}`,
    )
    .join('');

/** What is wrong with an experiment file, one line a field: `<field>: got <value>; <what is allowed>`. */
export function describeIssue(issue: z.core.$ZodIssue, root: unknown, schema: JsonSchema): string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(schemaAt(schema, root, issue.path)?.properties ?? {});
    return issue.keys.map((key) => `${dotted([...issue.path, key])}: unknown field; ${instead(key, known)}`);
  }
  const value = valueAt(root, issue.path);
  return [
    `${dotted(issue.path)}: ${value === undefined ? 'missing' : `got ${show(value)}`}; ${allowed(issue, root, schema)}`,
  ];
}

function instead(key: string, known: readonly string[]): string {
  const nearest = nearestName(key, known);
  return nearest === undefined ? `allowed: ${known.join(', ')}` : `did you mean "${nearest}"?`;
}

function allowed(issue: z.core.$ZodIssue, root: unknown, schema: JsonSchema): string {
  // The choice of a variant, whose own schema is not chosen yet.
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return `allowed: ${issue.options.map(show).join(', ')}`;
  if (issue.code === 'too_big' && issue.maximum === Number.MAX_SAFE_INTEGER)
    return `expected a whole number of at most ${Number.MAX_SAFE_INTEGER}`;
  // Patterns say in words what they want.
  if (issue.code === 'invalid_format' && issue.format === 'regex') return issue.message;
  return expectation(schemaAt(schema, root, issue.path) ?? {});
}
