import { InvalidConfig } from '../validation/invalid-config.ts';
import { nearestName, show } from '../validation/issue-messages.ts';
import { isObject } from '../validation/json-schema.ts';
import type { Experiment } from './experiment.ts';

/** Settings by dotted path, such as `{'difficulty.alpha': 0.4}`. */
export type FieldValues = Record<string, unknown>;

/** Fields that `retune` may change under a run. All others decide what the run is: they take a fork. */
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

/**
 * Values of the retunable fields that are in effect: among an epoch's inputs in the ledger. Fields that this
 * experiment has not are left out.
 */
export function settingsInEffect(experiment: Experiment): Record<string, number> {
  const values: Record<string, number> = {};
  for (const path of retunableFields) {
    const value = path
      .split('.')
      .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], experiment);
    if (typeof value === 'number') values[path] = value;
  }
  return values;
}

/**
 * A copy of a settings object with fields set by dotted path (`difficulty.alpha`). Only fields that are there
 * can be set.
 * @throws InvalidConfig naming the path, and what is there instead
 */
export function setFields(settings: object, values: FieldValues): Record<string, unknown> {
  const copy = structuredClone(settings) as Record<string, unknown>;
  for (const [path, value] of Object.entries(values)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at: Record<string, unknown> = copy;
    for (const [depth, name] of names.entries())
      at = below(at, name, path, names.slice(0, depth + 1).join('.'));
    if (!(last in at)) throw unknown(path, last, at);
    at[last] = value;
  }
  return copy;
}

function below(
  at: Record<string, unknown>,
  name: string,
  path: string,
  soFar: string,
): Record<string, unknown> {
  if (!(name in at)) throw unknown(path, name, at);
  const next = at[name];
  if (isObject(next)) return next;
  throw new InvalidConfig(`${path}: cannot be set, since ${soFar} is ${show(next)} in this experiment`);
}

function unknown(path: string, name: string, at: object): InvalidConfig {
  const names = Object.keys(at);
  const near = nearestName(name, names);
  return new InvalidConfig(
    `${path}: there is no field ${JSON.stringify(name)}; ${near === undefined ? `allowed: ${names.join(', ')}` : `did you mean ${JSON.stringify(near)}?`}`,
  );
}
type Json = Record<string, unknown>;
const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const showValue = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/**
 * The first fields in which two experiments differ, for a message: `epochs: was 90, is 120; world.tools: was
 * 4, is 5`.
 */
export function changedFields(before: unknown, after: unknown, most = 3): string {
  return [...differences(before, after, '')].slice(0, most).join('; ');
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
