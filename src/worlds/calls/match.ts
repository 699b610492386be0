import type { ArgumentValue, Call, CallTool, ExpectedCall, Type } from './task-schema.ts';

/** Whether two texts count as equal. */
export type TextEquality = (left: string, right: string) => boolean;

/**
 * BFCL's rule for strings: case, spaces and `,./-_*^` do not matter, and quotes are one. Source:
 * `standardize_string` of its ast_checker.
 */
export const looseText: TextEquality = (left, right) => standardizeText(left) === standardizeText(right);

/** ToolRL's rule for API-Bank: equal as JSON. */
export const exactText: TextEquality = (left, right) => left === right;

const standardizeText = (text: string): string =>
  text
    .replace(/[ ,./\-_*^]/g, '')
    .toLowerCase()
    .replaceAll("'", '"');

/** Lists match in their order, objects by their keys, numbers and truth values by type and value. */
export function sameValue(left: unknown, right: unknown, same: TextEquality): boolean {
  if (typeof left === 'string' && typeof right === 'string') return same(left, right);
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return left === right;
  if (Array.isArray(left) || Array.isArray(right))
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => sameValue(item, right[index], same))
    );
  const entries = Object.entries(left);
  return (
    entries.length === Object.keys(right).length &&
    entries.every(
      ([key, value]) =>
        Object.hasOwn(right, key) && sameValue(value, (right as Record<string, unknown>)[key], same),
    )
  );
}

/** Accepted values of a parameter; `""` of an optional parameter stands for leaving it out. */
export const acceptedValues = (
  tool: CallTool,
  parameter: string,
  values: ExpectedCall['arguments'][string],
): ExpectedCall['arguments'][string] =>
  tool.required.includes(parameter) ? values : values.filter((value) => value !== '');

/** What BFCL reads `""` in the list of a parameter as, too: the empty text, or the empty list. */
function emptyValues(type: Type | undefined, values: ExpectedCall['arguments'][string]): ArgumentValue[] {
  if (!values.includes('')) return [];
  if (type === 'string') return [''];
  return type === 'array' ? [[]] : [];
}

/**
 * Whether a call matches the expected one, by the rules of BFCL's AST checker: the name exactly; each
 * argument one of those accepted; nothing that the answer does not name; nothing left out but what may be.
 */
export function callMatches(gold: ExpectedCall, tool: CallTool, call: Call, same: TextEquality): boolean {
  if (
    call.name !== gold.name ||
    Object.keys(call.arguments).some((name) => !Object.hasOwn(gold.arguments, name))
  )
    return false;
  return Object.entries(gold.arguments).every(([name, values]) => {
    const accepted = acceptedValues(tool, name, values);
    if (!Object.hasOwn(call.arguments, name)) return accepted.length < values.length;
    const allowed = [...accepted, ...emptyValues(tool.parameters[name]?.type, values)];
    return allowed.some((value) => sameValue(call.arguments[name], value, same));
  });
}

/**
 * Whether the calls are the expected ones, each once, in any order: a perfect matching (Kuhn's algorithm), so
 * the order of accepted values does not matter.
 */
export function callsMatch(
  gold: readonly ExpectedCall[],
  tools: readonly CallTool[],
  calls: readonly Call[],
  same: TextEquality,
): boolean {
  if (calls.length !== gold.length) return false;
  const fits = gold.map((expected) =>
    calls.map((call) =>
      callMatches(
        expected,
        tools.find(({ name }) => name === expected.name)!,
        call,
        same,
      ),
    ),
  );
  const takenBy = new Map<number, number>();
  const place = (wanted: number, seen: Set<number>): boolean =>
    calls.some((_, at) => {
      if (!fits[wanted]![at] || seen.has(at)) return false;
      seen.add(at);
      const before = takenBy.get(at);
      if (before !== undefined && !place(before, seen)) return false;
      takenBy.set(at, wanted);
      return true;
    });
  return gold.every((_, wanted) => place(wanted, new Set()));
}
