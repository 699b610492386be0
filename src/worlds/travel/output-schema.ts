import { z } from 'zod';
import { listOf, toOutputSchema } from '../json-tasks/output-schema.ts';
import { createInformationSchema, createQuerySchema, daySchema } from './task-schema.ts';

/** What the simulator may write, by the number of days: up to three know two cities, their plan has a day each. */
export const travelOutputSchema = (): Record<string, unknown> =>
  toOutputSchema([2, 3, 4, 5, 6, 7].map(taskSchema));

/** Patterns with their lengths. What goes beyond `from A to B` in a city's name stays with the parser. */
const city = z
  .string()
  .regex(/^(?:[A-Z][A-Za-z.'-]{0,39}|[A-Z](?:[A-Za-z.'-]| [A-Z]){0,19})$/)
  .meta({ id: 'city' });
const name = z
  .string()
  .regex(/^[^;()\n,\s-](?:[^;()\n,]{0,78}[^;()\n,\s])?$/)
  .meta({ id: 'name' });
const duration = z
  .string()
  .regex(
    /^(?:\d{1,3} days? ?(?:\d{1,3} hours? ?)?(?:\d{1,3} mins?)?|\d{1,3} hours? ?(?:\d{1,3} mins?)?|\d{1,3} mins?)$/,
  );

const query = createQuerySchema({ city });
const rows = createInformationSchema({ city, name, duration }).shape;
const tables = {
  flights: rows.flights.meta({ id: 'flights' }),
  restaurants: rows.restaurants.meta({ id: 'restaurants' }),
  accommodations: rows.accommodations.meta({ id: 'accommodations' }),
  attractions: rows.attractions.meta({ id: 'attractions' }),
  distances: rows.distances.meta({ id: 'distances' }),
};

const planDays = Array.from({ length: 7 }, (_, index) =>
  daySchema.extend({ days: z.literal(index + 1) }).meta({ id: `day_${index + 1}` }),
);

const taskSchema = (days: number): z.ZodType =>
  z.strictObject({
    query: query.extend({ days: z.literal(days), date: query.shape.date.length(days) }),
    information: z.strictObject({
      ...tables,
      cities: days <= 3 ? rows.cities.length(2) : rows.cities,
    }),
    plan: listOf(planDays.slice(0, days)),
  });
