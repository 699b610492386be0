/**
 * Answers of servers, held to schemas. A server chooses what it answers, and a list or record of zod makes a
 * problem of each wrong entry: some 300 bytes for two of the answer. Those here stop early.
 */
import { z } from 'zod';
import { sizeProblem } from '../validation/input-size.ts';
import { firstIssues } from '../validation/issue-messages.ts';
import { MAX_COUNTED_TOKENS } from './answer-limits.ts';
import { InvalidAnswer } from './policy-client.ts';

/** Values of an answer whose number does not follow from its request: lists of models, canaries, versions. */
const MAX_PLAIN_VALUES = 100_000;

/** How many tokens a server says that it has read or sampled. */
export const countedTokens = z.int().min(0).max(MAX_COUNTED_TOKENS);

type Issues = z.core.$ZodRawIssue[];

/** Entries that are parsed together: one by one takes three times as long, and answers have a million of them. */
const PART = 500;

/** A list up to its first wrong part. */
export function listOf<Entry extends z.ZodType>(entry: Entry) {
  const part = z.array(entry);
  return z.array(z.unknown()).transform((values, { issues }): z.output<Entry>[] => {
    const entries: z.output<Entry>[][] = [];
    for (let from = 0; from < values.length; from += PART) {
      const parsed = part.safeParse(values.slice(from, from + PART));
      if (!parsed.success) {
        const { path, message } = parsed.error.issues[0]!;
        const [index, ...inner] = path;
        issues.push({ code: 'custom', input: undefined, path: [from + Number(index), ...inner], message });
        break;
      }
      entries.push(parsed.data);
    }
    return entries.flat();
  });
}

/** An object of any names up to its first wrong value. */
export const recordOf = <Entry extends z.ZodType>(entry: Entry) =>
  z.record(z.string(), z.unknown()).transform((values, { issues }): Record<string, z.output<Entry>> => {
    const entries: [string, z.output<Entry>][] = [];
    for (const [name, value] of Object.entries(values)) {
      const parsed = parseEntry(entry, value, name, issues);
      if (parsed === undefined) break;
      entries.push([name, parsed.data]);
    }
    return Object.fromEntries(entries);
  });

/** Undefined if its problems were added. */
function parseEntry<Entry extends z.ZodType>(
  entry: Entry,
  value: unknown,
  place: string | number,
  issues: Issues,
): { data: z.output<Entry> } | undefined {
  const parsed = entry.safeParse(value);
  if (parsed.success) return parsed;
  for (const { path, message } of parsed.error.issues)
    issues.push({ code: 'custom', input: undefined, path: [place, ...path], message });
  return undefined;
}

/** @throws InvalidAnswer for more values than can be right, or a deep nesting */
export function requireAnswerSize(body: unknown, what: string, maxValues = MAX_PLAIN_VALUES): void {
  const problem = sizeProblem(body, maxValues);
  if (problem !== undefined) throw new InvalidAnswer(`${what}: ${problem}`);
}

/**
 * An answer as its schema has it, with lists by `listOf` and records by `recordOf`.
 * @param what it is, for errors: `answer of m`
 * @throws InvalidAnswer, as `requireAnswerSize` does, or naming the first problems
 */
export function checkAnswer<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  what: string,
  maxValues?: number,
): z.output<Schema> {
  requireAnswerSize(body, what, maxValues);
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new InvalidAnswer(`${what}: ${firstIssues(parsed.error, 'the answer')}`);
  return parsed.data;
}
