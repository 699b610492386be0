import { parameterTypes } from './program.ts';
import type { ProgramLimits } from './program.ts';
import { usualTools } from './tools.ts';
import type { Tool } from './tools.ts';
import {
  FIRST_YEAR,
  isAssignable,
  LAST_YEAR,
  MAX_ITEMS,
  MAX_LETTERS,
  MIN_ITEMS,
  names,
  reservedValues,
  valueTypes,
} from './values.ts';
import type { ValueType } from './values.ts';

/**
 * The simulator's lines as a grammar in xgrammar's EBNF, for servers that can hold a model to one. It has
 * every task and nothing that is none, but for what no such grammar says: how many calls there are in all
 * (`too_many_calls`), and that no call stands twice side by side (`repeated_call`). A rule `date_2` is a date
 * with at most two calls nested in it.
 */
export function programGrammar({ maxCalls, maxDepth }: ProgramLimits): string {
  const depths = Array.from({ length: maxDepth }, (_, index) => index + 1);
  const calls = (depth: number): string[] =>
    valueTypes.flatMap((type) => {
      const callable = usualTools.filter(({ result }) => result === type);
      return [
        rule(
          `${type}_call_${depth}`,
          callable.map((tool) => callRule(tool, depth - 1)),
        ),
        rule(`${type}_${depth}`, [type, ...callsFor(type, depth)]),
      ];
    });
  const further = maxCalls > 1 ? ` ("; " call){0,${maxCalls - 1}}` : '';
  return [
    `root ::= call${further}`,
    rule(
      'call',
      valueTypes.map((type) => `${type}_call_${maxDepth}`),
    ),
    ...depths.flatMap(calls),
    ...valueTypes.map((type) => rule(type, literalRules[type])),
    rule('month_day', monthDays),
  ].join('\n');
}

const rule = (name: string, alternatives: readonly string[]): string =>
  `${name} ::= ${alternatives.join(' | ')}`;

const quote = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const callsFor = (type: ValueType, depth: number): string[] =>
  valueTypes.filter((from) => isAssignable(from, type)).map((from) => `${from}_call_${depth}`);

const callRule = (tool: Tool, depth: number): string => {
  const args = parameterTypes(tool).map((type) => (depth === 0 ? type : `${type}_${depth}`));
  return `${quote(`${tool.name}(`)} ${args.join(' ", " ')} ")"`;
};

const isUsualYear = (year: number): boolean =>
  year < reservedValues.years[0] || year > reservedValues.years[1];

const usualYears = Array.from(
  { length: LAST_YEAR - FIRST_YEAR + 1 },
  (_, index) => FIRST_YEAR + index,
).filter(isUsualYear);

const isLeapYear = (year: number): boolean => new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;

/** All but 29 February. */
const monthDays = [
  '("01" | "03" | "05" | "07" | "08" | "10" | "12") "-" ("0" [1-9] | [1-2] [0-9] | "30" | "31")',
  '("04" | "06" | "09" | "11") "-" ("0" [1-9] | [1-2] [0-9] | "30")',
  '"02-" ("0" [1-9] | "1" [0-9] | "2" [0-8])',
];

const anyOf = (texts: readonly (string | number)[]): string =>
  `(${texts.map((text) => quote(String(text))).join(' | ')})`;

/** Characters but the reserved ones, as a class. */
function characterClass(all: string, reserved: string): string {
  return `[${[...all].filter((character) => !reserved.includes(character)).join('')}]`;
}

const hundreds = characterClass(
  '123456789',
  '123456789'
    .split('')
    .filter((digit) => Number(digit) >= reservedValues.numbers[0] / 100)
    .filter((digit) => Number(digit) * 100 <= reservedValues.numbers[1])
    .join(''),
);

const lowercase = 'abcdefghijklmnopqrstuvwxyz';
const letters = lowercase + lowercase.toUpperCase();
const firstLetters = characterClass(letters, reservedValues.letters + reservedValues.letters.toUpperCase());

/** The literals that may be written. Those of held-out tasks are not among them. */
const literalRules: Record<ValueType, string[]> = {
  number: ['[0-9]', '[1-9] [0-9]', `${hundreds} [0-9] [0-9]`],
  text: [`"\\"" ${firstLetters} [a-zA-Z]{0,${MAX_LETTERS - 1}} "\\""`],
  date: [
    `"\\"" ${anyOf(usualYears)} "-" month_day "\\""`,
    `"\\"" ${anyOf(usualYears.filter(isLeapYear))} "-02-29\\""`,
  ],
  list: [`"[" number (", " number){${MIN_ITEMS - 1},${MAX_ITEMS - 1}} "]"`],
  person: names.person.usual.map((name) => quote(`"${name}"`)),
  item: names.item.usual.map((name) => quote(`"${name}"`)),
};
