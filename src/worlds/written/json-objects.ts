import { soundJson } from './sound-json.ts';

/** The JSON objects that stand somewhere in a text. */
export function jsonObjects(text: string): unknown[] {
  const found: unknown[] = [];
  for (let from = text.indexOf('{'); from !== -1; from = text.indexOf('{', from + 1)) {
    const json = soundJson(text.slice(from, endOfObject(text, from)));
    if ('value' in json) found.push(json.value);
  }
  return found;
}

/** Where the object that begins there ends: one pass, whatever the text. */
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
