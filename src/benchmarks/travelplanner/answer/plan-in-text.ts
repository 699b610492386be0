import { readLiteral } from '../../python-literal.ts';

/** Most characters of an answer that are looked at, from its end: real plans of seven days have 6,000. */
const longest = 200_000;

/** The last list of objects in an answer, which may think aloud or fence it: the plan. Null where there is none that is whole. */
export function planInText(answer: string): Record<string, unknown>[] | null {
  const text = answer.slice(-longest);
  const opening = /\[\s*\{/gu;
  let plan: Record<string, unknown>[] | null = null;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const literal = readLiteral(text, match.index);
    if (literal === undefined) continue;
    if (isPlan(literal.value)) plan = literal.value;
    opening.lastIndex = literal.end;
  }
  return plan;
}

function isPlan(value: unknown): value is Record<string, unknown>[] {
  return (
    Array.isArray(value) &&
    value.every((day) => typeof day === 'object' && day !== null && !Array.isArray(day))
  );
}
