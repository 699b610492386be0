import type { FieldValues } from '../../config/retune.ts';
import { CliError, exitCodes } from '../exit-codes.ts';

/** `difficulty.alpha=0.4` as a field and its value: JSON where it is some, else text. @throws CliError */
export function assignments(texts: readonly string[]): FieldValues {
  return Object.fromEntries(texts.map(assignment));
}

function assignment(text: string): [string, unknown] {
  const at = text.indexOf('=');
  if (at < 1)
    throw new CliError(
      `got ${JSON.stringify(text)}; expected key=value, such as difficulty.alpha=0.4`,
      exitCodes.badInput,
    );
  return [text.slice(0, at).trim(), valueOf(text.slice(at + 1).trim())];
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
