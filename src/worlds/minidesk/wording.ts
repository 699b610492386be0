import type { DeskOutcome } from './desk.ts';
import type { DeskTask } from './task.ts';

/** What a wording claims, as parsed. */
type WordingClaim =
  | { kind: 'ok' }
  | { kind: 'changed'; verb: string; key: string; value: string | undefined }
  | { kind: 'found'; records: ReadonlySet<string> }
  | { kind: 'missing'; key: string }
  | { kind: 'error' }
  | { kind: 'malformed' };

/** The world's own wording of an outcome: for evaluations, and if the simulator's wording is not true. */
export function defaultWording(outcome: DeskOutcome, style: DeskTask['style']): string {
  const verbose = style === 'v';
  switch (outcome.kind) {
    case 'ok': {
      const { action } = outcome;
      if (!verbose) return 'ok';
      return action.tool === 'move'
        ? `moved ${action.key} ${action.place}`
        : `painted ${action.key} ${action.colour}`;
    }
    case 'found':
      return `${verbose ? 'found ' : ''}${outcome.records.length === 0 ? 'none' : outcome.records.map(({ key, place }) => key + place).join(' ')}`;
    case 'missing':
      return `${verbose ? 'missing' : 'no'} ${outcome.key}`;
    case 'error':
      return verbose ? 'failed' : 'err';
    case 'malformed':
      return '?';
    case 'done':
      throw new RangeError('nothing is worded after "done"');
  }
}

/** The simulator's prompt to word an outcome: style, action and bare facts, `v|ma2|ok=`. */
export function wordingPrompt(outcome: DeskOutcome, action: string, style: DeskTask['style']): string {
  return outcome.kind === 'malformed' ? `${style}|?|?=` : `${style}|${action}|${outcomeFacts(outcome)}=`;
}

function outcomeFacts(outcome: DeskOutcome): string {
  switch (outcome.kind) {
    case 'found':
      return outcome.records.map(({ key, place }) => key + place).join('') || '-';
    case 'ok':
      return 'ok';
    case 'missing':
      return 'no';
    default:
      return 'err';
  }
}

/** Whether a wording says exactly what happened. A wording that cannot be parsed is false. */
export function isTrueWording(wording: string, outcome: DeskOutcome): boolean {
  const claim = parseWording(wording);
  if (claim === undefined) return false;
  switch (outcome.kind) {
    case 'ok': {
      const { action } = outcome;
      if (claim.kind === 'ok') return true;
      if (
        claim.kind !== 'changed' ||
        claim.verb !== (action.tool === 'move' ? 'moved' : 'painted') ||
        claim.key !== action.key
      )
        return false;
      return (
        claim.value === undefined || claim.value === (action.tool === 'move' ? action.place : action.colour)
      );
    }
    case 'found':
      return (
        claim.kind === 'found' &&
        claim.records.size === outcome.records.length &&
        outcome.records.every(({ key, place }) => claim.records.has(key + place))
      );
    case 'missing':
      return claim.kind === 'missing' && claim.key === outcome.key;
    default:
      return claim.kind === outcome.kind;
  }
}

function parseWording(wording: string): WordingClaim | undefined {
  if (wording === 'ok') return { kind: 'ok' };
  if (wording === 'err' || wording === 'failed') return { kind: 'error' };
  if (wording === '?') return { kind: 'malformed' };
  const [, verb, key, value] = /^(moved|painted) ([a-f])(?: ([\da-z]))?$/.exec(wording) ?? [];
  if (verb !== undefined && key !== undefined) return { kind: 'changed', verb, key, value };
  const [, absent] = /^(?:no|missing) ([a-f])$/.exec(wording) ?? [];
  if (absent !== undefined) return { kind: 'missing', key: absent };
  const [, list] = /^(?:found )?(none|[a-f]\d(?: [a-f]\d)*)$/.exec(wording) ?? [];
  if (list === undefined) return undefined;
  const records = list === 'none' ? [] : list.split(' ');
  return new Set(records).size === records.length ? { kind: 'found', records: new Set(records) } : undefined;
}
