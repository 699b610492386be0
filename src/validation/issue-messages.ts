import type { z } from 'zod';
import { expectation, schemaAt, valueAt } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

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
/** The known name that an unknown one was probably meant to be; undefined where none is close. */
export function nearestName(unknown: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((name) => ({ name, distance: editDistance(unknown.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best && best.distance <= Math.max(1, Math.floor(unknown.length / 3)) ? best.name : undefined;
}

/**
 * Letters to add, drop, change or swap with their neighbour to turn one word into the other (for words of a
 * few letters).
 */
function editDistance(a: string, b: string, known = new Map<string, number>()): number {
  if (a === '' || b === '') return a.length + b.length;
  const key = `${a.length},${b.length}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const rest = (dropA: number, dropB: number): number => editDistance(a.slice(dropA), b.slice(dropB), known);
  const isSwap = a.length > 1 && b.length > 1 && a.startsWith(b.charAt(1)) && b.startsWith(a.charAt(1));
  const swapped = isSwap ? rest(2, 2) + 1 : Infinity;
  const distance = Math.min(
    rest(1, 1) + (b.startsWith(a.charAt(0)) ? 0 : 1),
    rest(1, 0) + 1,
    rest(0, 1) + 1,
    swapped,
  );
  known.set(key, distance);
  return distance;
}
