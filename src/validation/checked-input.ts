/** Inputs that come out of Temporal: anybody in the namespace may have written them. */
import type { z } from 'zod';
import { isTooDeep } from './input-size.ts';
import { firstIssues } from './issue-messages.ts';

/** An input that no code of this project sends. Nothing of it is quoted: it may be anything, and is kept. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
}

/**
 * Checks arguments by a schema each; what is left out must be optional in its schema. They are used as they
 * are, not as the schema would change them: keys hash them.
 * @param what is called, for errors: `activity openEpoch`
 * @throws InvalidInput naming the fields and what is allowed
 */
export function checkArguments(what: string, schemas: readonly z.ZodType[], args: readonly unknown[]): void {
  if (args.length > schemas.length)
    throw new InvalidInput(`${what}: got ${args.length} arguments; expected at most ${schemas.length}`);
  for (const [index, schema] of schemas.entries()) {
    if (isTooDeep(args[index]))
      throw new InvalidInput(`${what}: argument ${index + 1}: it is nested too deeply`);
    const { error } = schema.safeParse(args[index]);
    if (error === undefined) continue;
    const problems = firstIssues(error, `argument ${index + 1}`);
    throw new InvalidInput(`${what}: its input is not one of this project: ${problems}`);
  }
}
