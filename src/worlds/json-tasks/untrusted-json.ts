import { breakControlTokens } from '../../formats/control-tokens.ts';

/** Limits on characters and nesting; later code may then recurse. */
export const MAX_LENGTH = 20_000;
const MAX_DEPTH = 48;

const forbiddenNames = new Set(['__proto__', 'constructor', 'prototype']);

export type UntrustedJson = { value: unknown } | { reason: string };

/**
 * Parses JSON that a model wrote and rejects what is unsafe: infinite numbers, broken characters, deep
 * nesting, inherited names of objects, control tokens of chat templates. Reasons: too_long, not_json,
 * too_deep, bad_number, broken_text, control_token, forbidden_name.
 */
export function parseUntrustedJson(text: string, maxLength = MAX_LENGTH): UntrustedJson {
  if (text.length > maxLength) return { reason: 'too_long' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { reason: 'not_json' };
  }
  const reason = findProblem(value);
  return reason === undefined ? { value } : { reason };
}

function findProblem(root: unknown): string | undefined {
  const pending: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, depth } = next;
    if (typeof value === 'number' && !Number.isFinite(value)) return 'bad_number';
    if (typeof value === 'string') {
      const reason = unsoundText(value);
      if (reason !== undefined) return reason;
    }
    if (typeof value !== 'object' || value === null) continue;
    if (depth === MAX_DEPTH) return 'too_deep';
    for (const [name, inner] of Object.entries(value)) {
      const reason = forbiddenNames.has(name) ? 'forbidden_name' : unsoundText(name);
      if (reason !== undefined) return reason;
      pending.push({ value: inner, depth: depth + 1 });
    }
  }
  return undefined;
}

/** A prompt that holds `<|im_end|>` would end its own turn, and speak for the agent. */
function unsoundText(text: string): string | undefined {
  if (!text.isWellFormed()) return 'broken_text';
  return breakControlTokens(text) === text ? undefined : 'control_token';
}

/** The JSON objects in a text, wherever they begin. */
export function jsonObjects(text: string): unknown[] {
  const objects: unknown[] = [];
  for (let from = text.indexOf('{'); from !== -1; from = text.indexOf('{', from + 1)) {
    const json = parseUntrustedJson(text.slice(from, endOfObject(text, from)));
    if ('value' in json) objects.push(json.value);
  }
  return objects;
}

/** Where the object that begins at `from` ends; linear time. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (quoted && character === '\\') at += 1;
    else if (character === '"') quoted = !quoted;
    else if (!quoted && character === '{') depth += 1;
    else if (!quoted && character === '}' && --depth === 0) return at + 1;
  }
  return text.length;
}
