import { hash } from 'node:crypto';
import { NotSerializable } from './errors.ts';

/**
 * The one JSON text of a value, after RFC 8785: no white space, keys sorted by UTF-16 code unit, numbers as
 * ECMAScript prints them. Equal values give equal bytes, so bytes can be hashed.
 *
 * @throws NotSerializable for what JSON cannot carry unchanged: undefined, NaN, infinities, bigint,
 * functions, class instances, text with half a surrogate pair, cycles; the message has the path of the value.
 */
export function canonicalJson(value: unknown): string {
  return write(value, []);
}

/** Hash of bytes, or of the UTF-8 of a text, in lowercase hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** The same hash as S3 writes it. */
export const sha256Base64 = (data: Uint8Array): string => hash('sha256', data, 'base64');

/** Hash of a value's canonical JSON. @throws NotSerializable */
export function hashOf(value: unknown): string {
  return sha256(canonicalJson(value));
}

type Trail = (string | number)[];
const MAX_DEPTH = 1000;

function write(value: unknown, trail: Trail): string {
  switch (typeof value) {
    case 'string':
      return text(value, trail);
    case 'number':
      return Number.isFinite(value)
        ? JSON.stringify(value)
        : refuse(value, trail, 'use null, or leave the field out');
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (trail.length > MAX_DEPTH)
        return refuse('a deeper value', trail.slice(0, 8), 'it refers to itself, or is nested too deeply');
      return Array.isArray(value) ? list(value, trail) : record(value, trail);
    default:
      return refuse(value, trail, 'use null, or leave the field out');
  }
}

function text(value: string, trail: Trail): string {
  return value.isWellFormed()
    ? JSON.stringify(value)
    : refuse(
        JSON.stringify(value.slice(0, 40)),
        trail,
        'it has half a surrogate pair: apply toWellFormed() to the text',
      );
}

function list(values: unknown[], trail: Trail): string {
  // Token ids and log-probabilities are most of what is stored: long lists of numbers take the native path.
  if (allNumbers(values)) return JSON.stringify(values);
  return `[${Array.from(values, (value, index) => step(value, index, trail)).join(',')}]`;
}

function allNumbers(values: unknown[]): boolean {
  // Not `every`, which passes over holes.
  for (const value of values) if (!Number.isFinite(value)) return false;
  return true;
}

function record(value: object, trail: Trail): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return refuse(`a ${value.constructor.name}`, trail, 'convert it to a plain object, list, text or number');
  }
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const members = fields.map(([key, field]) => `${text(key, trail)}:${step(field, key, trail)}`);
  return `{${members.join(',')}}`;
}

function step(value: unknown, key: string | number, trail: Trail): string {
  trail.push(key);
  const written = write(value, trail);
  trail.pop();
  return written;
}

function refuse(value: unknown, trail: Trail, remedy: string): never {
  const path = trail.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
  throw new NotSerializable(`Cannot write $${path} as JSON: found ${String(value)}; ${remedy}.`);
}
