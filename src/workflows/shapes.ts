/**
 * Shapes of values that anybody in the namespace may have sent. A schema library would be in the memory of
 * every cached workflow, so these few functions stand in for it. What only passes through a workflow is
 * checked where it arrives: in the activities, by their schemas (src/activities/input-schemas.ts).
 */

/** Yields what is wrong with a value, each time with the field's path. */
export type Shape = (value: unknown, path: string) => Generator<string>;

/** A value that the workflow hands on without looking at it. */
// eslint-disable-next-line require-yield -- anything is right
export const unchecked: Shape = function* () {
  return;
};

export const wholeNumber = (min: number, max: number): Shape =>
  function* (value, path) {
    if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
      yield `${path}: expected a whole number from ${min} to ${max}`;
  };

export const number = (min: number, max: number): Shape =>
  function* (value, path) {
    if (typeof value !== 'number' || !(value >= min && value <= max))
      yield `${path}: expected a number from ${min} to ${max}`;
  };

export const positiveNumber = (max: number): Shape =>
  function* (value, path) {
    if (typeof value !== 'number' || !(value > 0 && value <= max))
      yield `${path}: expected a number above 0, of at most ${max}`;
  };

export const boolean: Shape = function* (value, path) {
  if (typeof value !== 'boolean') yield `${path}: expected true or false`;
};

export const text = (maxLength: number): Shape =>
  function* (value, path) {
    if (typeof value !== 'string' || value.length > maxLength)
      yield `${path}: expected text of at most ${maxLength} characters`;
  };

export const nullable = (shape: Shape): Shape =>
  function* (value, path) {
    if (value !== null) yield* shape(value, path);
  };

export const optional = (shape: Shape): Shape =>
  function* (value, path) {
    if (value !== undefined) yield* shape(value, path);
  };

export const list = (shape: Shape, maxLength: number): Shape =>
  function* (value, path) {
    if (!Array.isArray(value) || value.length > maxLength) {
      yield `${path}: expected a list of at most ${maxLength} entries`;
      return;
    }
    for (const [index, entry] of value.entries()) yield* shape(entry, `${path}[${index}]`);
  };

/** An object; those fields alone if there are any, else whatever it holds. */
export const object = (fields?: Readonly<Record<string, Shape>>): Shape =>
  function* (value, path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      yield `${path}: expected an object`;
      return;
    }
    if (fields === undefined) return;
    for (const name of Object.keys(value))
      if (!Object.hasOwn(fields, name)) yield `${path}: has a field that this version does not know`;
    for (const [name, shape] of Object.entries(fields))
      yield* shape((value as Record<string, unknown>)[name], `${path}.${name}`);
  };
