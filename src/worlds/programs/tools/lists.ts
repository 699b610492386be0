import type { ToolTable } from './tool.ts';

/** Lists of numbers. */
export const listsTools: ToolTable = {
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
    phrases: ['the first part with {count} numbers of {items}', 'the beginning of length {count} of {items}'],
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
    isReserved: true,
  },
  remove_duplicates: {
    parameters: { items: 'list' },
    result: 'list',
    phrases: ['the distinct numbers of {items}', 'the form without duplicates of {items}'],
    isReserved: true,
  },
};
