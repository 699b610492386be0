import type { ToolTable } from './tool.ts';

/** Days of the calendar. */
export const datesTools: ToolTable = {
  add_days: {
    parameters: { date: 'date', days: 'number' },
    result: 'date',
    phrases: ['the date that lies {days} days after {date}', 'the result of adding {days} days to {date}'],
  },
  subtract_days: {
    parameters: { date: 'date', days: 'number' },
    result: 'date',
    phrases: ['the date that lies {days} days before {date}', 'the result of taking {days} days from {date}'],
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
    isCommutative: true,
  },
  earlier_date: {
    parameters: { a: 'date', b: 'date' },
    result: 'date',
    phrases: ['the earlier date of {a} and {b}', 'the first of the dates {a} and {b}'],
    isCommutative: true,
  },
  add_weeks: {
    parameters: { date: 'date', weeks: 'number' },
    result: 'date',
    phrases: [
      'the date that lies {weeks} weeks after {date}',
      'the result of adding {weeks} weeks to {date}',
    ],
    isReserved: true,
  },
  next_holiday: {
    parameters: { date: 'date' },
    result: 'date',
    phrases: ['the next holiday after {date}', 'the first holiday that follows {date}'],
    isReserved: true,
  },
};
