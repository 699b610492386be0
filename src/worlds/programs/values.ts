import type { RandomStream } from '../../numerics/random.ts';

/** What arguments and results of tools can be. A `person` and an `item` are names of the fixed table. */
export const valueTypes = ['number', 'text', 'date', 'list', 'person', 'item'] as const;
export type ValueType = (typeof valueTypes)[number];

/** A literal. Dates are texts such as `2024-03-05`; lists have numbers. */
export type Value = number | string | readonly number[];

export const MAX_NUMBER = 999;
export const MAX_LETTERS = 12;
export const [MIN_ITEMS, MAX_ITEMS] = [2, 5];
export const [FIRST_YEAR, LAST_YEAR] = [2000, 2029];

/**
 * Values that are in no base task and in no corpus, and that the simulator may not write. It may write the names among
 * them as texts.
 */
export const reservedValues = {
  numbers: [600, 799],
  /** First letters of words. */
  letters: 'vwxyz',
  years: [2015, 2019],
} as const;

interface Names {
  usual: readonly string[];
  reserved: readonly string[];
}

/** The names of the small database. What it says about them is nobody's concern: a look-up is a call. */
export const names: Readonly<Record<'person' | 'item', Names>> = {
  person: {
    usual: ['Anna', 'Ben', 'Clara', 'David', 'Emma', 'Felix', 'Grace', 'Henry', 'Julia', 'Leo'],
    reserved: ['Olga', 'Peter', 'Rosa'],
  },
  item: {
    usual: ['lamp', 'chair', 'desk', 'phone', 'book', 'clock', 'shirt', 'kettle', 'bottle', 'carpet'],
    reserved: ['mirror', 'basket', 'camera'],
  },
};

const isName = (type: 'person' | 'item', value: string): boolean =>
  names[type].usual.includes(value) || names[type].reserved.includes(value);

export const daysIn = (year: number, month: number): number =>
  new Date(Date.UTC(year, month, 0)).getUTCDate();

/** Whether a value of one type may be given for a parameter of another: names are texts too. */
export const isAssignable = (from: ValueType, to: ValueType): boolean =>
  from === to || (to === 'text' && (from === 'person' || from === 'item'));

/** Why a literal may not be given for a parameter, as a word in the metrics; undefined if it may. */
export function literalFault(value: Value, type: ValueType): string | undefined {
  if (type === 'number') {
    if (typeof value !== 'number') return 'wrong_arguments';
    return isSmallNumber(value) ? undefined : 'value_out_of_range';
  }
  if (type === 'list') {
    if (typeof value !== 'object') return 'wrong_arguments';
    return value.length >= MIN_ITEMS && value.length <= MAX_ITEMS && value.every(isSmallNumber)
      ? undefined
      : 'value_out_of_range';
  }
  if (typeof value !== 'string') return 'wrong_arguments';
  if (type === 'text')
    return new RegExp(`^[A-Za-z]{1,${MAX_LETTERS}}$`).test(value) ? undefined : 'value_out_of_range';
  if (type === 'date') return dateFault(value);
  return isName(type, value) ? undefined : 'unknown_name';
}

const isSmallNumber = (value: number): boolean =>
  Number.isInteger(value) && value >= 0 && value <= MAX_NUMBER;

function dateFault(value: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return 'wrong_arguments';
  const [year = 0, month = 0, day = 0] = value.split('-').map(Number);
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  return isDay && year >= FIRST_YEAR && year <= LAST_YEAR ? undefined : 'value_out_of_range';
}

/** Whether a valid literal is one of those that only held-out tasks have. */
export function isReservedValue(value: Value, type: ValueType): boolean {
  if (typeof value === 'number') return isWithin(value, reservedValues.numbers);
  if (typeof value !== 'string') return value.some((item) => isWithin(item, reservedValues.numbers));
  if (type === 'date') return isWithin(Number(value.slice(0, 4)), reservedValues.years);
  if (type === 'text') return reservedValues.letters.includes(value.slice(0, 1).toLowerCase());
  return type === 'person' || type === 'item' ? names[type].reserved.includes(value) : false;
}

const isWithin = (value: number, [from, to]: readonly [number, number]): boolean =>
  value >= from && value <= to;

const words = (
  'rain apple river stone cloud bread music garden table house green light paper forest silver ocean ' +
  'butter candle dragon engine flower guitar hammer island jacket ladder market needle orange pencil ' +
  'rabbit summer ticket bridge castle dinner farmer honey kitten lemon mountain number office planet'
).split(' ');
const reservedWords = 'winter yellow zebra violin window yogurt village whisper velvet zipper'.split(' ');

/** A literal as base tasks and corpora have them; one that they never have if `reserved`. */
export function drawValue(type: ValueType, random: RandomStream, reserved = false): Value {
  switch (type) {
    case 'number':
      return drawNumber(random, reserved);
    case 'list':
      return Array.from({ length: 3 + random.int(3) }, () => drawNumber(random, reserved));
    case 'text':
      return random.pick(reserved ? reservedWords : words);
    case 'date':
      return drawDate(random, reserved);
    default:
      return random.pick(reserved ? names[type].reserved : names[type].usual);
  }
}

/** Numbers of one to three digits, the short ones more often. */
function drawNumber(random: RandomStream, reserved: boolean): number {
  const [from, to] = reservedValues.numbers;
  if (reserved) return from + random.int(to - from + 1);
  const value = 2 + random.int(random.pick([18, 98, 98, MAX_NUMBER - 1]));
  return value >= from && value <= to ? value - from : value;
}

function drawDate(random: RandomStream, reserved: boolean): string {
  const [from, to] = reservedValues.years;
  const usual = random.pick([2000 + random.int(from - 2000), to + 1 + random.int(LAST_YEAR - to)]);
  const year = reserved ? from + random.int(to - from + 1) : usual;
  const month = 1 + random.int(12);
  const day = 1 + random.int(daysIn(year, month));
  return [year, month, day].map((part) => String(part).padStart(2, '0')).join('-');
}
