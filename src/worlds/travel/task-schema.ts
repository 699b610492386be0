import { z } from 'zod';
import { dayFields, MAX_ROUTE_LENGTH } from '../../benchmarks/travelplanner/data/plan.ts';

/**
 * What the simulator writes: a query in its parts, the rows of a small sandbox by the benchmark's names of
 * columns, and a plan that does.
 */

/** Texts within a task. The parser's and those of the output schema differ in what a grammar can say. */
interface Leaves {
  city: z.ZodType<string>;
  /** Part of a text that semicolons, brackets and line ends take apart. */
  name: z.ZodType<string>;
  duration: z.ZodType<string>;
}

const leaves: Leaves = {
  // The benchmark reads cities out of texts such as `from A to B`.
  city: z
    .string()
    .max(40)
    .regex(/^[A-Z][A-Za-z.'-]*(?: [A-Z][A-Za-z.'-]*)*$/)
    .refine((name) => !/from|to /i.test(name), 'holds "from" or "to "'),
  name: z
    .string()
    .max(80)
    .regex(/^[^;()\n,]*[^;()\n,\s-][^;()\n,]*$/)
    .refine((text) => text === text.trim(), 'begins or ends with a space'),
  duration: z
    .string()
    .regex(/^(?:\d+ days? ?)?(?:\d+ hours? ?)?(?:\d+ mins?)?$/)
    .min(5),
};
const price = z.number().min(0).max(100_000);
const time = z.string().regex(/^\d\d:\d\d$/);

export const houseRules = ['smoking', 'parties', 'children under 10', 'visitors', 'pets'] as const;
export const roomTypes = ['shared room', 'not shared room', 'private room', 'entire room'] as const;

export const createQuerySchema = ({ city }: Pick<Leaves, 'city'>) =>
  z.strictObject({
    org: city,
    dest: city,
    days: z.int().min(2).max(7),
    visiting_city_number: z.int().min(1).max(3),
    date: z.array(z.iso.date()).min(2).max(7),
    people_number: z.int().min(1).max(12),
    local_constraint: z.strictObject({
      'house rule': z.enum(houseRules).nullable(),
      cuisine: z.array(z.string().min(3).max(30)).min(1).max(4).nullable(),
      'room type': z.enum(roomTypes).nullable(),
      transportation: z.enum(['no flight', 'no self-driving']).nullable(),
    }),
    budget: z.int().min(1).max(1_000_000),
  });

export const createInformationSchema = ({ city, name, duration }: Leaves) =>
  z.strictObject({
    cities: z
      .array(z.strictObject({ city, state: city }))
      .min(2)
      .max(8),
    flights: z
      .array(
        z.strictObject({
          'Flight Number': z.string().regex(/^F\d{3,8}$/),
          Price: price,
          DepTime: time,
          ArrTime: time,
          FlightDate: z.iso.date(),
          OriginCityName: city,
          DestCityName: city,
        }),
      )
      .max(24),
    restaurants: z
      .array(
        z.strictObject({
          Name: name,
          'Average Cost': price,
          Cuisines: z.string().min(3).max(120),
          City: city,
        }),
      )
      .min(1)
      .max(40),
    accommodations: z
      .array(
        z.strictObject({
          NAME: name,
          price,
          'room type': z.enum(['Shared room', 'Private room', 'Entire home/apt']),
          house_rules: z.string().max(160),
          'minimum nights': z.int().min(1).max(60),
          'maximum occupancy': z.int().min(1).max(20),
          city,
        }),
      )
      .min(1)
      .max(24),
    attractions: z
      .array(z.strictObject({ Name: name, City: city }))
      .min(1)
      .max(40),
    distances: z
      .array(
        z.strictObject({
          origin: city,
          destination: city,
          duration,
          distance: z.string().regex(/^\d{1,3}(?:,\d{3})* km$/),
        }),
      )
      .max(24),
  });

const querySchema = createQuerySchema(leaves);
const informationSchema = createInformationSchema(leaves);

const field = z.string().min(1).max(MAX_ROUTE_LENGTH);
export const daySchema = z.strictObject({
  days: z.int().min(1).max(7),
  ...(Object.fromEntries(dayFields.map((column) => [column, field])) as Record<
    (typeof dayFields)[number],
    typeof field
  >),
});

export const travelTaskSchema = z.strictObject({
  query: querySchema,
  information: informationSchema,
  plan: z.array(daySchema).min(2).max(7),
});

export type Information = z.infer<typeof informationSchema>;
export type TravelPlan = z.infer<typeof travelTaskSchema>['plan'];
export type TravelTask = z.infer<typeof travelTaskSchema>;
