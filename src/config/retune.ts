import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName, show } from '../validation/issue-messages.ts';
import { isObject } from '../validation/json-schema.ts';
import type { Experiment } from './experiment.ts';

/** Settings by dotted path, such as `{'difficulty.alpha': 0.4}`. */
export type FieldValues = Record<string, unknown>;

/** Fields of a run that `retune` may change. All others define the run: changing them takes a fork. */
export const retunableFields = [
  'epochs',
  'difficulty.alpha',
  'difficulty.beta',
  'filter.kMin',
  'environment.training.lambda',
  'environment.training.learningRate',
  'environment.sampling.temperature',
  'agent.training.learningRate',
  'agent.sampling.temperature',
] as const;

/** Values of the retunable fields that an experiment has; they are among an epoch's inputs in the ledger. */
export function settingsInEffect(experiment: Experiment): Record<string, number> {
  const values: Record<string, number> = {};
  for (const path of retunableFields) {
    const value = path
      .split('.')
      .reduce<unknown>((node, name) => (node as Json | null | undefined)?.[name], experiment);
    if (typeof value === 'number') values[path] = value;
  }
  return values;
}

/**
 * A copy of a settings object with fields set by dotted path (`difficulty.alpha`).
 * @param mayAdd whether fields that are not there can be set, for a caller that refuses unknown ones
 * @throws InvalidConfig naming the path, and what is there instead
 */
export function setFields(
  settings: object,
  values: FieldValues,
  { mayAdd = false } = {},
): Record<string, unknown> {
  const copy = structuredClone(settings) as Json;
  for (const [path, value] of Object.entries(values)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let node: Json = copy;
    for (const [depth, name] of names.entries()) {
      requireField(node, name, { path, mayAdd });
      if (mayAdd && node[name] === undefined) node[name] = {};
      const child = node[name];
      if (!isObject(child)) {
        const parentPath = names.slice(0, depth + 1).join('.');
        throw new InvalidConfig(
          `${path}: cannot be set, since ${parentPath} is ${show(child)} in this experiment`,
        );
      }
      node = child;
    }
    requireField(node, last, { path, mayAdd });
    node[last] = value;
  }
  // What is set by hand holds from then on.
  if (Object.hasOwn(values, 'difficulty.alpha') && isObject(copy.difficulty))
    delete copy.difficulty.alphaSchedule;
  return copy;
}

type Json = Record<string, unknown>;

/** They would lead out of the settings, to what all objects of this process share. */
const namesOfPrototypes = new Set(['__proto__', 'constructor', 'prototype']);

function requireField(node: Json, name: string, { path, mayAdd }: { path: string; mayAdd: boolean }): void {
  if ((mayAdd || Object.hasOwn(node, name)) && !namesOfPrototypes.has(name)) return;
  const names = Object.keys(node);
  const near = nearestName(name, names);
  const remedy =
    near === undefined ? `allowed: ${names.join(', ')}` : `did you mean ${JSON.stringify(near)}?`;
  throw new InvalidConfig(`${path}: there is no field ${JSON.stringify(name)}; ${remedy}`);
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const showValue = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/**
 * The first fields in which two experiments differ, for a message: `epochs: was 90, is 120; world.tools: was
 * 4, is 5`.
 */
export function changedFields(before: unknown, after: unknown, max = 3): string {
  return [...differences(before, after, '')].slice(0, max).join('; ');
}

function* differences(before: unknown, after: unknown, path: string): Generator<string> {
  if (!isRecord(before) || !isRecord(after)) {
    if (showValue(before) !== showValue(after))
      yield `${path === '' ? 'the file' : path}: was ${showValue(before)}, is ${showValue(after)}`;
    return;
  }
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  for (const key of keys) yield* differences(before[key], after[key], path === '' ? key : `${path}.${key}`);
}
