import { expect } from 'vitest';
import { InvalidConfig } from '../src/validation/invalid-config.ts';

/** The message with which a file is refused; `accepted` if it is not. */
export function refusalOf(parse: (raw: unknown) => unknown, raw: unknown): string {
  try {
    parse(raw);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidConfig);
    return (error as Error).message;
  }
  return 'accepted';
}
