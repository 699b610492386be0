/** The fields of a day that the evaluation reads, each a text; `-` if there is nothing. */
export const dayFields = [
  'current_city',
  'transportation',
  'breakfast',
  'attraction',
  'lunch',
  'dinner',
  'accommodation',
] as const;

export type DayField = (typeof dayFields)[number];

/** A day of a plan: a field is null if it is JSON's null, and undefined if it is missing. */
export type DayPlan = Readonly<Record<DayField, string | null | undefined>> & {
  /** Meaningful entries of the day, of any name: the official evaluation counts them all. */
  readonly entries: number;
  /** It is `{}`, like days that were not requested. */
  readonly isEmpty: boolean;
};

/** The official evaluation ends with an error at such a plan. Its message says where. */
export class MalformedPlan extends Error {
  override readonly name = 'MalformedPlan';
}

/** Maximum characters of a field with a route: real ones have 130, and parsing takes cubic time at worst. */
export const MAX_ROUTE_LENGTH = 500;

/**
 * The first days of a plan as a model wrote it. Later ones are never looked at.
 *
 * @throws MalformedPlan for a day that is no object, and for a field that is neither text nor null
 */
export function readDays(plan: readonly unknown[], days: number): DayPlan[] {
  return plan.slice(0, days).map((day, index) => {
    if (typeof day !== 'object' || day === null || Array.isArray(day))
      throw new MalformedPlan(`day ${index + 1} is no object`);
    const fields = dayFields.map((field) => [field, readField(day, field, index + 1)] as const);
    return {
      ...(Object.fromEntries(fields) as Record<DayField, string | null | undefined>),
      entries: Object.values(day).filter(isMeaningful).length,
      isEmpty: Object.keys(day).length === 0,
    };
  });
}

/**
 * The text of a field, or null; what the official evaluation reads with `day[field]`.
 * @throws MalformedPlan if it is missing
 */
export function required(day: DayPlan, field: DayField, number: number): string | null {
  const text = day[field];
  if (text === undefined) throw new MalformedPlan(`day ${number} has no ${field}`);
  return text;
}

/** A field that must be a text. @throws MalformedPlan if it is not */
export function requiredText(day: DayPlan, field: DayField, number: number): string {
  const text = required(day, field, number);
  if (text === null) throw new MalformedPlan(`${field} of day ${number} is null`);
  return text;
}

/** Whether a field has something to check. */
export function isFilled(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text !== '' && text !== '-';
}

function readField(day: object, field: DayField, number: number): string | null | undefined {
  if (!Object.hasOwn(day, field)) return undefined;
  const value = (day as Record<string, unknown>)[field];
  if (value !== null && typeof value !== 'string')
    throw new MalformedPlan(`${field} of day ${number} is no text`);
  const route = field === 'current_city' || field === 'transportation';
  if (route && value !== null && value.length > MAX_ROUTE_LENGTH)
    throw new MalformedPlan(`${field} of day ${number} has more than ${MAX_ROUTE_LENGTH} characters`);
  return value;
}

/** Python's truth of a JSON value, other than `-`. */
function isMeaningful(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value) && value !== '-';
}

/**
 * How the official evaluation parses texts of a plan. Some of its regular expressions take quadratic or cubic
 * time on texts that a model may write; these functions give the same results in linear time.
 */

/**
 * `Houston(Texas)` as `Houston`; a text without a pair of brackets, or with a line break before it,
 * unchanged.
 */
export function beforeParenthesis(text: string): string {
  const open = text.indexOf('(');
  if (open < 0 || !text.includes(')', open)) return text;
  const before = text.slice(0, open);
  return before.includes('\n') ? text : before;
}

/**
 * `Coco Bambu, Rockford` as its name and city, split at the last comma; `-` and `-` for a text that has no
 * such parts.
 */
export function nameAndCity(text: string): { name: string; city: string } {
  const comma = text.lastIndexOf(',');
  if (comma < 0 || comma === text.length - 1) return { name: '-', city: '-' };
  const line = text.lastIndexOf('\n', comma) + 1;
  return {
    name: text.slice(line, comma).trim(),
    city: beforeParenthesis(text.slice(comma + 1).trim()).trim(),
  };
}

/** `from A to B, ...` as A and B; null for another form. Its input is short: see MAX_ROUTE_LENGTH. */
export function fromTo(text: string): [from: string, to: string] | null {
  const match = /from\s+([^\n]+?)\s+to\s+([^,]+)/u.exec(text);
  return match && [match[1]!, match[2]!];
}
