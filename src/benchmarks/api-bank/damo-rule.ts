import { parseLiteral, readLiteral } from '../../formats/python-literal.ts';
import type { Literal } from '../../formats/python-literal.ts';
import { stripReasoning } from '../../formats/toolrl.ts';

/**
 * Texts that DAMO's own checks compare by their words: contents of agendas and reminders, keywords of
 * searches for a tool.
 */
const freeTexts: ReadonlySet<string> = new Set(['content', 'keywords']);

export type CallFault = 'wrong_api' | 'wrong_parameters' | 'wrong_value';

/**
 * What is wrong with a call; null if it is correct. The API's name and the names of its parameters are equal,
 * and so is every value: a list or dict written as text is the list or dict, a number or a truth value is
 * what its text says (data and models quote them at will), texts are equal up to white space around and
 * between words; case counts. Free texts must share more than half of their words, ignoring case.
 */
export function callFault(call: ApiCall, gold: ApiCall): CallFault | null {
  if (call.name !== gold.name) return 'wrong_api';
  if (call.parameters.size !== gold.parameters.size) return 'wrong_parameters';
  for (const [name, value] of gold.parameters) {
    const actual = call.parameters.get(name);
    if (actual === undefined) return 'wrong_parameters';
    const equal = freeTexts.has(name)
      ? sharedWords(actual, value) > 0.5
      : sameValue(normalizeValue(actual), normalizeValue(value));
    if (!equal) return 'wrong_value';
  }
  return null;
}

/** Words of both over words of either, each counted once. */
function sharedWords(actual: Literal, expected: Literal): number {
  const [left, right] = [wordSet(actual), wordSet(expected)];
  const shared = [...left].filter((word) => right.has(word)).length;
  const either = left.size + right.size - shared;
  return either === 0 ? 1 : shared / either;
}

function wordSet(value: Literal): Set<string> {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return new Set(
    text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
  );
}

/** A value with its scalars as texts, and texts that hold lists or dicts as these. */
function normalizeValue(value: Literal): Literal {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') {
    const text = value.replace(/\s+/g, ' ').trim();
    const structure = /^[[{]/.test(text) ? parseLiteral(text) : undefined;
    return structure === undefined ? normalizeScalar(text) : normalizeValue(structure);
  }
  if (isList(value)) return value.map(normalizeValue);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, normalizeValue(item)]));
}

/** `True` and `5.0` as code would write their values; a text with leading zeros is a name, not a number. */
function normalizeScalar(text: string): string {
  if (/^(?:true|false|none)$/i.test(text)) return text.toLowerCase();
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text) ? String(Number(text)) : text;
}

function sameValue(left: Literal, right: Literal): boolean {
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return left === right;
  if (isList(left) || isList(right))
    return (
      isList(left) &&
      isList(right) &&
      left.length === right.length &&
      left.every((item, index) => sameValue(item, right[index]!))
    );
  const names = Object.keys(left);
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && sameValue(left[name]!, right[name]!))
  );
}

const isList = (value: Literal): value is readonly Literal[] => Array.isArray(value);

/** A call as DAMO's data writes it: `[ApiName(key1='value1', key2='value2')]`. */
export interface ApiCall {
  name: string;
  parameters: ReadonlyMap<string, Literal>;
}

const opening = /\[\s*([A-Za-z_]\w*)\s*\(/g;
const key = /\s*([A-Za-z_]\w*)\s*=\s*/y;
const closing = /\s*(?:,\s*)?\)\s*\]/y;
/** The end of a value: the next parameter, or the end of the call. Linear in the white space. */
const valueEnd = /\s*(?:,\s*[A-Za-z_]\w*\s*=|(?:,\s*)?\)\s*\])/y;
/** Longer texts are not read: parsing starts at every possible beginning. */
const MAX_ANSWER_LENGTH = 20_000;

/**
 * The first call in a text that can be read, after any reasoning (`</think>`); undefined if there is none.
 * Nothing is evaluated.
 */
export function parseApiCall(text: string): ApiCall | undefined {
  const answer = stripReasoning(text);
  if (answer.length > MAX_ANSWER_LENGTH) return undefined;
  for (const { 0: match, 1: name, index } of answer.matchAll(opening)) {
    const parameters = readParameters(answer, index + match.length);
    if (parameters !== undefined) return { name: name!, parameters };
  }
  return undefined;
}

function readParameters(text: string, start: number): Map<string, Literal> | undefined {
  const parameters = new Map<string, Literal>();
  let at = start;
  while (!matches(closing, text, at)) {
    if (parameters.size > 0) at = text.indexOf(',', at) + 1;
    key.lastIndex = at;
    const name = key.exec(text)?.[1];
    const read = name === undefined || parameters.has(name) ? undefined : readValue(text, key.lastIndex);
    if (name === undefined || read === undefined) return undefined;
    parameters.set(name, read.value);
    at = read.end;
  }
  return parameters;
}

/**
 * A literal, if it is the whole value; else the text between quotes (the data does not escape inner ones);
 * else the bare text.
 */
function readValue(text: string, start: number): { value: Literal; end: number } | undefined {
  const literal = readLiteral(text, start);
  if (literal !== undefined && matches(valueEnd, text, literal.end)) return literal;
  const quote = text[start] === "'" || text[start] === '"' ? text[start] : '';
  for (let end = start + 1; end < text.length; end++) {
    // Tried only at positions where a value can end, which keeps it linear.
    if (quote === '' ? text[end] !== ',' && text[end] !== ')' : text[end] !== quote) continue;
    const next = end + quote.length;
    if (matches(valueEnd, text, next))
      return { value: text.slice(start + quote.length, end).trim(), end: next };
  }
  return undefined;
}

function matches(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
