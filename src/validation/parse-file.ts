import { z } from 'zod';
import { InvalidConfig } from './invalid-config.ts';
import { describeIssue, show } from './issue-messages.ts';
import { isObject, withoutLimitsOfIntegers } from './json-schema.ts';
import type { JsonSchema } from './json-schema.ts';

/** JSON Schema of a file as people write it. */
export const fileJsonSchema = (schema: z.ZodType): JsonSchema =>
  withoutLimitsOfIntegers(z.toJSONSchema(schema, { io: 'input', target: 'draft-7' }) as JsonSchema);

/**
 * What a workflow was started with, as its file's schema reads it.
 * @param kind what the file is called, and its messages begin with: `comparison`
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
  if (!isObject(raw)) throw new InvalidConfig(`${kind}: got ${show(raw)}; expected an object, ${file}`);
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const described = fileJsonSchema(schema);
  throw new InvalidConfig(
    parsed.error.issues
      .flatMap((issue) => describeIssue(issue, raw, described))
      .map((problem) => `${kind}: ${problem}`)
      .join('\n'),
  );
}
