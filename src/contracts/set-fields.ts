import { show } from './describe-issue.ts';
import { InvalidConfig } from './invalid-config.ts';
import { isObject } from './json-schema.ts';
import { nearestName } from './nearest-name.ts';
import type { FieldValues } from './phases.ts';

/**
 * A copy of a settings object with fields set by dotted path (`difficulty.alpha`). Only fields that are there can be set.
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
