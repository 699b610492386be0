import type { ToolTable } from './tool.ts';

const numbers = { a: 'number', b: 'number' } as const;

/** Calculations with two numbers. */
export const arithmeticTools: ToolTable = {
  add: {
    parameters: numbers,
    result: 'number',
    phrases: ['the sum of {a} and {b}', 'the total of {a} and {b}', 'the result of adding {a} and {b}'],
    isCommutative: true,
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
    isCommutative: true,
  },
  maximum: {
    parameters: numbers,
    result: 'number',
    phrases: ['the larger of {a} and {b}', 'the maximum of {a} and {b}', 'the greater of {a} and {b}'],
    isCommutative: true,
  },
  minimum: {
    parameters: numbers,
    result: 'number',
    phrases: ['the smaller of {a} and {b}', 'the minimum of {a} and {b}', 'the lesser of {a} and {b}'],
    isCommutative: true,
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
    isReserved: true,
  },
  average: {
    parameters: numbers,
    result: 'number',
    phrases: ['the average of {a} and {b}', 'the mean of {a} and {b}'],
    isCommutative: true,
    isReserved: true,
  },
};
