import type { ToolTable } from './tool.ts';

/** Words, and what can be made of them. */
export const textTools: ToolTable = {
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
    phrases: ['the text made of {times} copies of {text}', 'the repetition of {text} exactly {times} times'],
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
    isReserved: true,
  },
  remove_vowels: {
    parameters: { text: 'text' },
    result: 'text',
    phrases: ['the form without vowels of {text}', 'the result of removing the vowels from {text}'],
    isReserved: true,
  },
};
