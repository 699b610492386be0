import { parseLiteral } from '../python-literal.ts';
import type { Literal } from '../python-literal.ts';
import type { ApiCall } from './damo-call.ts';

/** Texts that DAMO's own checks compare by their words: contents of agendas and reminders, keywords of searches for a tool. */
const freeTexts: ReadonlySet<string> = new Set(['content', 'keywords']);

export type CallFault = 'wrong_api' | 'wrong_parameters' | 'wrong_value';

/**
 * What is wrong with a call; null where it is right. The API's name and the names of its parameters are equal, and so is every value:
 * a list or dict written as text is the list or dict, a number or a truth value is what its text says (data and models quote them at
 * will), texts are equal up to white space around and between words; case counts. Free texts share more than half of their words, whatever the case.
 */
export function callFault(call: ApiCall, gold: ApiCall): CallFault | null {
  if (call.name !== gold.name) return 'wrong_api';
  if (call.parameters.size !== gold.parameters.size) return 'wrong_parameters';
  for (const [name, value] of gold.parameters) {
    const given = call.parameters.get(name);
    if (given === undefined) return 'wrong_parameters';
    const equal = freeTexts.has(name)
      ? sharedWords(given, value) > 0.5
      : sameValue(plain(given), plain(value));
    if (!equal) return 'wrong_value';
  }
  return null;
}

/** Words of both over words of either, each counted once. */
function sharedWords(one: Literal, other: Literal): number {
  const [left, right] = [words(one), words(other)];
  const shared = [...left].filter((word) => right.has(word)).length;
  const either = left.size + right.size - shared;
  return either === 0 ? 1 : shared / either;
}

function words(value: Literal): Set<string> {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return new Set(
    text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== ''),
  );
}

/** A value with its scalars as texts, and texts that hold lists or dicts as these. */
function plain(value: Literal): Literal {
  if (value === null) return 'none';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') {
    const text = value.replace(/\s+/g, ' ').trim();
    const structure = /^[[{]/.test(text) ? parseLiteral(text) : undefined;
    return structure === undefined ? scalar(text) : plain(structure);
  }
  if (isList(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** `True` and `5.0` as code would write their values; a text with leading zeros is a name, not a number. */
function scalar(text: string): string {
  if (/^(?:true|false|none)$/i.test(text)) return text.toLowerCase();
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/.test(text) ? String(Number(text)) : text;
}

function sameValue(one: Literal, other: Literal): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other;
  if (isList(one) || isList(other))
    return (
      isList(one) &&
      isList(other) &&
      one.length === other.length &&
      one.every((item, index) => sameValue(item, other[index]!))
    );
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && sameValue(one[name]!, other[name]!))
  );
}

const isList = (value: Literal): value is readonly Literal[] => Array.isArray(value);
