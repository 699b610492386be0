import type { z } from 'zod';
import { expectation, schemaAt, valueAt } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/** A value as a message shows it. */
export function show(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  const shown = withoutUser(text);
  return shown.length > 120 ? `${shown.slice(0, 117)}...` : shown;
}

/** Addresses without their `user:password@`. */
const withoutUser = (text: string): string => text.replaceAll(/(:\/\/)[^\s"]*@/g, '$1***@');

/** A path as people write it: `world.baseLengths[1]`. */
const dotted = (path: readonly PropertyKey[]): string =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '');

/** More problems than these help nobody, and each takes a look through the schema. */
const MAX_DESCRIBED = 20;

/**
 * The problems of a file, one line a field: `<field>: got <value>; <what is allowed>`. The first 20 are
 * described, and the others counted.
 */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  root: unknown,
  schema: JsonSchema,
): string[] {
  const problems = issues.flatMap((issue): (() => string)[] =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => () => describeUnknown(issue.path, key, root, schema))
      : [() => describeIssue(issue, root, schema)],
  );
  return describeFirst(problems);
}

/** The first 20 of some problems, and how many more there are. */
export const firstProblems = (problems: readonly string[]): string[] =>
  describeFirst(problems.map((problem) => () => problem));

function describeFirst(problems: readonly (() => string)[]): string[] {
  const described = problems.slice(0, MAX_DESCRIBED).map((describe) => describe());
  const more = problems.length - described.length;
  return more === 0 ? described : [...described, `${more} more problems`];
}

/** Problems of what no person wrote that are described. */
const MAX_IN_LINE = 5;

/**
 * The first problems of what came from a program, in one line; the others are counted. Nothing of it is quoted but
 * the names of fields.
 * @param root what stands for the path of the value itself
 */
export function firstIssues({ issues }: z.ZodError, root: string): string {
  const described = issues.slice(0, MAX_IN_LINE).map(({ path, message, code }) => {
    const field = path.map(String).join('.').slice(0, 200) || root;
    return `${field}: ${code === 'unrecognized_keys' ? 'has unknown fields' : message.slice(0, 300)}`;
  });
  const more = issues.length - described.length;
  return [...described, ...(more > 0 ? [`${more} more problems`] : [])].join('; ');
}

function describeUnknown(
  path: readonly PropertyKey[],
  key: string,
  root: unknown,
  schema: JsonSchema,
): string {
  const fields = Object.keys(schemaAt(schema, root, path)?.properties ?? {});
  const shown = key.length > MAX_SHOWN_NAME ? `${key.slice(0, MAX_SHOWN_NAME)}...` : key;
  return `${dotted([...path, shown])}: unknown field; ${suggestion(key, fields)}`;
}

function describeIssue(issue: z.core.$ZodIssue, root: unknown, schema: JsonSchema): string {
  const value = valueAt(root, issue.path);
  const actual = value === undefined ? 'missing' : `got ${show(value)}`;
  return `${dotted(issue.path)}: ${actual}; ${allowed(issue, root, schema)}`;
}

function suggestion(key: string, fields: readonly string[]): string {
  const nearest = nearestName(key, fields);
  return nearest === undefined ? `allowed: ${fields.join(', ')}` : `did you mean "${nearest}"?`;
}

function allowed(issue: z.core.$ZodIssue, root: unknown, schema: JsonSchema): string {
  // The type of a variant: no variant, and so no schema, is chosen yet.
  if (issue.code === 'invalid_union' && 'options' in issue && Array.isArray(issue.options))
    return `allowed: ${issue.options.map(show).join(', ')}`;
  if (issue.code === 'too_big' && issue.maximum === Number.MAX_SAFE_INTEGER)
    return `expected a whole number of at most ${Number.MAX_SAFE_INTEGER}`;
  if (issue.code === 'too_big' && (issue.origin === 'array' || issue.origin === 'string'))
    return `expected at most ${issue.maximum} ${issue.origin === 'array' ? 'entries' : 'characters'}`;
  // A pattern and a rule in code have their own messages.
  if (issue.code === 'custom' || (issue.code === 'invalid_format' && issue.format === 'regex'))
    return issue.message;
  return expectation(schemaAt(schema, root, issue.path) ?? {});
}

/** The longest name that is shown whole, and that may be a slip of another one. */
const MAX_SHOWN_NAME = 80;

/** The name that an unknown one was probably meant to be; undefined if none is close. */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  if (unknown.length > MAX_SHOWN_NAME) return undefined;
  const ranked = names
    .map((name) => ({ name, distance: editDistance(unknown.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  const maxDistance = Math.max(1, Math.floor(unknown.length / 3));
  return best && best.distance <= maxDistance ? best.name : undefined;
}

/**
 * Edit distance with swaps of neighbouring letters (optimal string alignment), for words of a few letters: to
 * Levenshtein a swap, the commonest slip, is two edits.
 */
function editDistance(a: string, b: string, memo = new Map<string, number>()): number {
  if (a === '' || b === '') return a.length + b.length;
  const key = `${a.length},${b.length}`;
  const remembered = memo.get(key);
  if (remembered !== undefined) return remembered;
  const rest = (dropA: number, dropB: number): number => editDistance(a.slice(dropA), b.slice(dropB), memo);
  const isSwap = a.length > 1 && b.length > 1 && a.startsWith(b.charAt(1)) && b.startsWith(a.charAt(1));
  const swapped = isSwap ? rest(2, 2) + 1 : Infinity;
  const distance = Math.min(
    rest(1, 1) + (b.startsWith(a.charAt(0)) ? 0 : 1),
    rest(1, 0) + 1,
    rest(0, 1) + 1,
    swapped,
  );
  memo.set(key, distance);
  return distance;
}
