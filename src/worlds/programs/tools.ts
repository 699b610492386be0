import type { ValueType } from './values.ts';

export const families = ['arithmetic', 'text', 'dates', 'lists', 'database'] as const;
export type Family = (typeof families)[number];

export interface Tool {
  name: string;
  family: Family;
  parameters: Readonly<Record<string, ValueType>>;
  result: ValueType;
  /**
   * Ways to ask for its result. Each begins with words of its own and names every parameter once, so that
   * nested phrases have one reading, as in Polish notation.
   */
  phrases: readonly string[];
  /** The order of its two arguments does not matter. */
  isCommutative?: true;
  /** Only held-out tasks ask for it. */
  isReserved?: true;
}

type Row = Omit<Tool, 'name' | 'family'>;

const numbers = { a: 'number', b: 'number' } as const;
const isCommutative = true;
const isReserved = true;

const table: Record<Family, Record<string, Row>> = {
  arithmetic: {
    add: {
      parameters: numbers,
      result: 'number',
      phrases: ['the sum of {a} and {b}', 'the total of {a} and {b}', 'the result of adding {a} and {b}'],
      isCommutative,
    },
    subtract: {
      parameters: numbers,
      result: 'number',
      phrases: [
        'the result of {a} minus {b}',
        'what is left when {b} is taken from {a}',
        'the result of subtracting {b} from {a}',
      ],
    },
    multiply: {
      parameters: numbers,
      result: 'number',
      phrases: [
        'the product of {a} and {b}',
        'the result of {a} times {b}',
        'the result of multiplying {a} by {b}',
      ],
      isCommutative,
    },
    maximum: {
      parameters: numbers,
      result: 'number',
      phrases: ['the larger of {a} and {b}', 'the maximum of {a} and {b}', 'the greater of {a} and {b}'],
      isCommutative,
    },
    minimum: {
      parameters: numbers,
      result: 'number',
      phrases: ['the smaller of {a} and {b}', 'the minimum of {a} and {b}', 'the lesser of {a} and {b}'],
      isCommutative,
    },
    remainder: {
      parameters: { dividend: 'number', divisor: 'number' },
      result: 'number',
      phrases: [
        'the remainder of {dividend} divided by {divisor}',
        'what remains when {dividend} is divided by {divisor}',
      ],
    },
    power: {
      parameters: { base: 'number', exponent: 'number' },
      result: 'number',
      phrases: [
        'the result of raising {base} to the power {exponent}',
        'the power with base {base} and exponent {exponent}',
      ],
    },
    divide: {
      parameters: numbers,
      result: 'number',
      phrases: ['the result of dividing {a} by {b}', 'the quotient of {a} divided by {b}'],
      isReserved,
    },
    average: {
      parameters: numbers,
      result: 'number',
      phrases: ['the average of {a} and {b}', 'the mean of {a} and {b}'],
      isCommutative,
      isReserved,
    },
  },
  text: {
    upper: {
      parameters: { text: 'text' },
      result: 'text',
      phrases: ['the uppercase form of {text}', 'the spelling in capitals of {text}'],
    },
    lower: {
      parameters: { text: 'text' },
      result: 'text',
      phrases: ['the lowercase form of {text}', 'the spelling in small letters of {text}'],
    },
    reverse: {
      parameters: { text: 'text' },
      result: 'text',
      phrases: ['the reverse of {text}', 'the backwards spelling of {text}'],
    },
    repeat: {
      parameters: { text: 'text', times: 'number' },
      result: 'text',
      phrases: [
        'the text made of {times} copies of {text}',
        'the repetition of {text} exactly {times} times',
      ],
    },
    join: {
      parameters: { first: 'text', second: 'text' },
      result: 'text',
      phrases: [
        'the text made by joining {first} and {second}',
        'the text that has {first} followed by {second}',
        'the text that puts {second} after {first}',
      ],
    },
    replace: {
      parameters: { text: 'text', old: 'text', new: 'text' },
      result: 'text',
      phrases: [
        'the result of replacing {old} by {new} in {text}',
        'the form of {text} with {old} changed to {new}',
      ],
    },
    count_letters: {
      parameters: { text: 'text' },
      result: 'number',
      phrases: ['the number of letters in {text}', 'the length of {text}'],
    },
    first_letter: {
      parameters: { text: 'text' },
      result: 'text',
      phrases: ['the first letter of {text}', 'the initial of {text}'],
      isReserved,
    },
    remove_vowels: {
      parameters: { text: 'text' },
      result: 'text',
      phrases: ['the form without vowels of {text}', 'the result of removing the vowels from {text}'],
      isReserved,
    },
  },
  dates: {
    add_days: {
      parameters: { date: 'date', days: 'number' },
      result: 'date',
      phrases: ['the date that lies {days} days after {date}', 'the result of adding {days} days to {date}'],
    },
    subtract_days: {
      parameters: { date: 'date', days: 'number' },
      result: 'date',
      phrases: [
        'the date that lies {days} days before {date}',
        'the result of taking {days} days from {date}',
      ],
    },
    days_between: {
      parameters: { start: 'date', end: 'date' },
      result: 'number',
      phrases: ['the number of days from {start} to {end}', 'the days that pass from {start} until {end}'],
    },
    weekday: {
      parameters: { date: 'date' },
      result: 'text',
      phrases: ['the weekday of {date}', 'the day of the week of {date}'],
    },
    year_of: {
      parameters: { date: 'date' },
      result: 'number',
      phrases: ['the year of {date}', 'the year in which {date} falls'],
    },
    later_date: {
      parameters: { a: 'date', b: 'date' },
      result: 'date',
      phrases: ['the later date of {a} and {b}', 'the last of the dates {a} and {b}'],
      isCommutative,
    },
    earlier_date: {
      parameters: { a: 'date', b: 'date' },
      result: 'date',
      phrases: ['the earlier date of {a} and {b}', 'the first of the dates {a} and {b}'],
      isCommutative,
    },
    add_weeks: {
      parameters: { date: 'date', weeks: 'number' },
      result: 'date',
      phrases: [
        'the date that lies {weeks} weeks after {date}',
        'the result of adding {weeks} weeks to {date}',
      ],
      isReserved,
    },
    next_holiday: {
      parameters: { date: 'date' },
      result: 'date',
      phrases: ['the next holiday after {date}', 'the first holiday that follows {date}'],
      isReserved,
    },
  },
  lists: {
    sum_list: {
      parameters: { items: 'list' },
      result: 'number',
      phrases: ['the sum of all numbers in {items}', 'the total of all entries of {items}'],
    },
    largest: {
      parameters: { items: 'list' },
      result: 'number',
      phrases: ['the largest number in {items}', 'the biggest entry of {items}'],
    },
    count_items: {
      parameters: { items: 'list' },
      result: 'number',
      phrases: ['the number of entries in {items}', 'the count of the numbers in {items}'],
    },
    sort_list: {
      parameters: { items: 'list' },
      result: 'list',
      phrases: ['the sorted form of {items}', 'the ascending order of {items}'],
    },
    reverse_list: {
      parameters: { items: 'list' },
      result: 'list',
      phrases: ['the reversed order of {items}', 'the back to front order of {items}'],
    },
    take_first: {
      parameters: { items: 'list', count: 'number' },
      result: 'list',
      phrases: [
        'the first part with {count} numbers of {items}',
        'the beginning of length {count} of {items}',
      ],
    },
    take_last: {
      parameters: { items: 'list', count: 'number' },
      result: 'list',
      phrases: ['the last part with {count} numbers of {items}', 'the ending of length {count} of {items}'],
    },
    append: {
      parameters: { items: 'list', value: 'number' },
      result: 'list',
      phrases: ['the result of appending {value} to {items}', 'the extension of {items} by {value}'],
    },
    number_range: {
      parameters: { start: 'number', end: 'number' },
      result: 'list',
      phrases: ['the list of numbers from {start} to {end}', 'the list that counts from {start} up to {end}'],
    },
    smallest: {
      parameters: { items: 'list' },
      result: 'number',
      phrases: ['the smallest number in {items}', 'the least entry of {items}'],
      isReserved,
    },
    remove_duplicates: {
      parameters: { items: 'list' },
      result: 'list',
      phrases: ['the distinct numbers of {items}', 'the form without duplicates of {items}'],
      isReserved,
    },
  },
  database: {
    price_of: {
      parameters: { item: 'item' },
      result: 'number',
      phrases: ['the price of {item}', 'the cost of {item}'],
    },
    stock_of: {
      parameters: { item: 'item' },
      result: 'number',
      phrases: ['the stock of {item}', 'the number of pieces in stock of {item}'],
    },
    age_of: {
      parameters: { person: 'person' },
      result: 'number',
      phrases: ['the age of {person}', 'the age in years of {person}'],
    },
    birthday_of: {
      parameters: { person: 'person' },
      result: 'date',
      phrases: ['the birthday of {person}', 'the date of birth of {person}'],
    },
    manager_of: {
      parameters: { person: 'person' },
      result: 'person',
      phrases: ['the manager of {person}', 'the boss of {person}'],
    },
    city_of: {
      parameters: { person: 'person' },
      result: 'text',
      phrases: ['the city of {person}', 'the city where {person} lives'],
    },
    favourite_of: {
      parameters: { person: 'person' },
      result: 'item',
      phrases: ['the favourite item of {person}', 'the item that {person} likes most'],
    },
    email_of: {
      parameters: { person: 'person' },
      result: 'text',
      phrases: ['the email address of {person}', 'the address for mail to {person}'],
      isReserved,
    },
    owner_of: {
      parameters: { item: 'item' },
      result: 'person',
      phrases: ['the owner of {item}', 'the person who owns {item}'],
      isReserved,
    },
  },
};

/** All tools by name. A map, so that no name is inherited. */
export const tools: ReadonlyMap<string, Tool> = new Map(
  families.flatMap((family) =>
    Object.entries(table[family]).map(([name, row]): [string, Tool] => [name, { name, family, ...row }]),
  ),
);

export const allTools: readonly Tool[] = [...tools.values()];
export const usualTools: readonly Tool[] = allTools.filter((tool) => tool.isReserved !== true);
