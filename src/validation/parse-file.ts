import { z } from 'zod';
import { InvalidConfig } from './invalid-config.ts';
import { sizeProblem } from './input-size.ts';
import { describeIssues, show } from './issue-messages.ts';
import { isObject, withoutLimitsOfIntegers } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/** JSON Schema of a file as people write it. */
export const fileJsonSchema = (schema: z.ZodType): JsonSchema =>
  withoutLimitsOfIntegers(z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema);

/** @throws InvalidConfig for what is larger than a file of that kind can be */
export function requireSize(kind: string, raw: unknown): void {
  const problem = sizeProblem(raw);
  if (problem !== undefined)
    throw new InvalidConfig(`${kind}: ${problem}; expected the content of a file of this project`);
}

/**
 * Parses a workflow's input by the schema of its file.
 * @param kind name of the file, with which messages begin: `comparison`
 * @param example path of such a file
 * @throws InvalidConfig naming every wrong field, what it holds and what is allowed
 */
export function parseFile<Schema extends z.ZodType>(
  kind: string,
  schema: Schema,
  raw: unknown,
  example: string,
): z.infer<Schema> {
  const file = `the content of ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} file`;
  if (raw === undefined || raw === null)
    throw new InvalidConfig(`${kind}: no input was given; expected ${file} (\`--input-file ${example}\`)`);
  requireSize(kind, raw);
  if (!isObject(raw)) throw new InvalidConfig(`${kind}: got ${show(raw)}; expected an object, ${file}`);
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const jsonSchema = fileJsonSchema(schema);
  const problems = describeIssues(parsed.error.issues, raw, jsonSchema);
  throw new InvalidConfig(problems.map((problem) => `${kind}: ${problem}`).join('\n'));
}
