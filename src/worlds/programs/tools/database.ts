import type { ToolTable } from './tool.ts';

/** Look-ups in a small database of people and things. A look-up is a call: what it finds is never asked. */
export const databaseTools: ToolTable = {
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
    isReserved: true,
  },
  owner_of: {
    parameters: { item: 'item' },
    result: 'person',
    phrases: ['the owner of {item}', 'the person who owns {item}'],
    isReserved: true,
  },
};
