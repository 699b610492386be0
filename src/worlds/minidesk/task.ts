import type { TaskSpec } from '../world.ts';

/** A thing on the desk: `ar1` is a, red, at place 1. */
export interface DeskRecord {
  key: string;
  colour: string;
  place: string;
}

/** A condition of the predicate: `b@2` = b is at place 2, `a=y` = a is yellow. */
export interface Condition {
  key: string;
  attribute: 'place' | 'colour';
  value: string;
}

/** A condition in the agent's prompt: `b>2`, or `g>2` for the green record, whose key it has to find. */
export interface Goal extends Omit<Condition, 'key'> {
  subject: string;
}

/**
 * What the simulator wrote: `ar1,bg3|g>2|b@2|t1`, the desk, the goal, the predicate that checks it, terse or
 * verbose, tool errors.
 */
export interface DeskTask {
  records: DeskRecord[];
  goals: Goal[];
  conditions: Condition[];
  style: 't' | 'v';
  errors: number;
}

export interface DeskAlphabet {
  keys: readonly string[];
  colours: readonly string[];
  places: readonly string[];
  conjuncts: number;
  maxErrors: number;
  turns: number;
}

export const deskAlphabet = (size: {
  records: number;
  colours: number;
  places: number;
  conjuncts: number;
  maxErrors: number;
  turns: number;
}): DeskAlphabet => ({
  keys: [...'abcdef'].slice(0, size.records),
  colours: [...'rgyw'].slice(0, size.colours),
  places: [...'1234'].slice(0, size.places),
  conjuncts: size.conjuncts,
  maxErrors: size.maxErrors,
  turns: size.turns,
});

const goalText = ({ subject, attribute, value }: Goal): string =>
  `${subject}${attribute === 'place' ? '>' : '='}${value}`;

const conditionText = ({ key, attribute, value }: Condition): string =>
  `${key}${attribute === 'place' ? '@' : '='}${value}`;

export const goalsText = (goals: readonly Goal[]): string => goals.map(goalText).join(',');

export const deskSpec = ({ records, goals, conditions, style, errors }: DeskTask): TaskSpec =>
  [
    records.map(({ key, colour, place }) => key + colour + place).join(','),
    goalsText(goals),
    conditions.map(conditionText).join(','),
    `${style}${errors}`,
  ].join('|');

/** Parses a task and checks its syntax and values; `findFlaw` checks whether it is sound. */
export function parseDeskTask(text: string, world: DeskAlphabet): { task: DeskTask } | { reason: string } {
  if (text === '') return { reason: 'empty' };
  const match = /^([a-z\d,]+)\|([a-z\d,>=]+)\|([a-z\d,@=]+)\|([tv])(\d)$/.exec(text);
  if (match === null) return { reason: 'unparsable' };
  const [, desk = '', goal = '', predicate = '', style, errors] = match;
  const records = readEach(desk, /^([a-z])([a-z])(\d)$/, (key, colour, place) => ({ key, colour, place }));
  if (
    records === undefined ||
    records.length > world.keys.length ||
    !records.every(
      ({ key, colour, place }, index) =>
        world.keys.includes(key) &&
        world.colours.includes(colour) &&
        world.places.includes(place) &&
        (index === 0 || records[index - 1]!.key < key),
    )
  )
    return { reason: 'bad_desk' };
  const goals = readEach(goal, /^([a-z])([>=])([a-z\d])$/, (subject, sign, value): Goal => ({
    subject,
    attribute: sign === '>' ? 'place' : 'colour',
    value,
  }));
  if (goals === undefined || !areInRange(goals, world)) return { reason: 'bad_goal' };
  const conditions = readEach(predicate, /^([a-z])([@=])([a-z\d])$/, (key, sign, value): Condition => ({
    key,
    attribute: sign === '@' ? 'place' : 'colour',
    value,
  }));
  if (conditions === undefined || !areInRange(conditions, world)) return { reason: 'bad_predicate' };
  if (Number(errors) > world.maxErrors) return { reason: 'too_many_errors' };
  return { task: { records, goals, conditions, style: style as 't' | 'v', errors: Number(errors) } };
}

function readEach<T>(
  text: string,
  pattern: RegExp,
  make: (first: string, second: string, third: string) => T,
): T[] | undefined {
  const matches = text.split(',').map((part) => pattern.exec(part));
  return matches.every((match) => match !== null)
    ? matches.map((match) => make(match[1]!, match[2]!, match[3]!))
    : undefined;
}

const areInRange = (
  all: readonly { attribute: 'place' | 'colour'; value: string }[],
  { conjuncts, places, colours }: DeskAlphabet,
): boolean =>
  all.length <= conjuncts &&
  all.every(({ attribute, value }) => (attribute === 'place' ? places : colours).includes(value));
