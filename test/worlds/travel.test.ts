import { describe, expect, it } from 'vitest';
import { findContamination } from '../../src/benchmarks/contamination/find-contamination.ts';
import { emptyHistory } from '../../src/coevolution/agent-history.ts';
import { queryText } from '../../src/benchmarks/travelplanner/query-text.ts';
import { randomStream } from '../../src/numerics/random.ts';
import type { TravelTask } from '../../src/worlds/travel/task-schema.ts';
import { read } from '../infra/repository.ts';
import { reasonOf, shippedWorld, specOf } from './json-tasks-support.ts';

const world = await shippedWorld('travel');
const tasks = read('experiments/tasks/travel.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as TravelTask);

type Day = TravelTask['plan'][number];
const copy = (at = 1): TravelTask => structuredClone(tasks[at]!);
const withQuery = (changes: Partial<TravelTask['query']>, at = 1): TravelTask => ({
  ...copy(at),
  query: { ...copy(at).query, ...changes },
});
const knowing = (change: (information: TravelTask['information']) => void, at = 1): TravelTask => {
  const task = copy(at);
  change(task.information);
  return task;
};
/** The verdict on the task's own plan, with a day of it changed. */
const with_ = (day: number, changes: Partial<Record<keyof Day, unknown>>, at = 1) =>
  world.score(
    specOf(world, copy(at)),
    JSON.stringify(
      copy(at).plan.map((entry, index) => (index === day - 1 ? { ...entry, ...changes } : entry)),
    ),
  );

describe('a plan', () => {
  it('is right where it keeps the query, after any thinking and in a fence', () => {
    for (const at of tasks.keys()) {
      const spec = specOf(world, copy(at));
      expect(
        world.score(spec, `Let me see [1].\n\`\`\`json\n${JSON.stringify(copy(at).plan, null, 2)}\n\`\`\``),
      ).toEqual({ reward: 1, wellFormed: true });
    }
    // Another dinner that the budget allows is as good as the simulator's.
    expect(with_(1, { dinner: 'Early Crust, Brookmouth' }).reward).toBe(1);
  });

  it.each<[string, number, Partial<Record<keyof Day, unknown>>]>([
    ['a place that is not there', 1, { dinner: 'The Gilded Spoon, Brookmouth' }],
    ['a part of a name', 1, { dinner: 'Copper, Brookmouth' }],
    ['a restaurant twice', 2, { dinner: 'The Copper Ladle, Brookmouth' }],
    ['an attraction without its semicolon that is not there', 2, { attraction: 'Nothing, Brookmouth' }],
    [
      'a room that does not allow what must be',
      1,
      { accommodation: 'Shared Bunks on Quay Street, Brookmouth' },
    ],
    ['nothing to sleep in', 1, { accommodation: '-' }],
    ['no way back', 3, { transportation: '-' }],
    [
      'two ways of driving',
      3,
      {
        transportation:
          'Taxi, from Brookmouth to Alderhaven, duration: 3 hours 25 mins, distance: 262 km, cost: 262',
      },
    ],
    ['an end elsewhere', 3, { current_city: 'from Brookmouth to Valeridge' }],
  ])('with %s is wrong, and of the right form', (_, day, changes) => {
    expect(with_(day, changes)).toEqual({ reward: 0, wellFormed: true });
  });

  it.each<[string, number, Partial<Record<keyof Day, unknown>>]>([
    ['a field that is null', 2, { breakfast: null }],
    ['a field that is a list', 2, { breakfast: ['Casa Verano, Brookmouth'] }],
    ['a field that nobody asked for', 2, { mood: 'splendid' } as object],
  ])('with %s has not the form', (_, day, changes) => {
    expect(with_(day, changes)).toEqual({ reward: 0, wellFormed: false });
  });

  it('is none in a text without one', () => {
    for (const text of ['', 'I would go to Brookmouth.', '{}', JSON.stringify(copy().plan[0])])
      expect(world.score(specOf(world, copy()), text)).toEqual({ reward: 0, wellFormed: false });
    expect(world.score(specOf(world, copy()), JSON.stringify(copy().plan.slice(0, 2)))).toEqual({
      reward: 0,
      wellFormed: false,
    });
  });

  it('may not drive where the query forbids it, in whatever case', () => {
    const task = copy(3);
    const driven = task.plan.map((day) => ({
      ...day,
      transportation: day.transportation.replace('Taxi', 'self-driving'),
    }));
    expect(task.query.local_constraint.transportation).toBe('no self-driving');
    expect(world.score(specOf(world, task), JSON.stringify(driven)).reward).toBe(0);
    const free = withQuery({ local_constraint: { ...task.query.local_constraint, transportation: null } }, 3);
    expect(world.score(specOf(world, free), JSON.stringify(driven)).reward).toBe(1);
  });
});

describe('a text of the simulator', () => {
  it.each<[string, TravelTask, string]>([
    ['a budget that its plan breaks', withQuery({ budget: 50 }), 'plan_fails'],
    [
      'a cuisine that its plan has not',
      withQuery({ local_constraint: { ...copy().query.local_constraint, cuisine: ['Martian'] } }),
      'plan_fails',
    ],
    ['a plan of fewer days', { ...copy(), plan: copy().plan.slice(0, 2) }, 'plan_fails'],
    ['days with a gap', withQuery({ date: ['2031-05-10', '2031-05-11', '2031-05-13'] }), 'wrong_dates'],
    ['more days than dates', withQuery({ days: 4 }), 'wrong_dates'],
    ['a destination that is no city', withQuery({ dest: 'Atlantis' }), 'unknown_city'],
    [
      'a third city on a short trip',
      knowing(({ cities }) => cities.push({ city: 'Valeridge', state: 'Northmark' })),
      'unknown_city',
    ],
    [
      'a restaurant elsewhere',
      knowing(({ restaurants }) => (restaurants[0]!.City = 'Atlantis')),
      'unknown_city',
    ],
    [
      'a name within another',
      knowing(({ restaurants }) => (restaurants[6]!.Name = 'Copper')),
      'ambiguous_name',
    ],
    ['a name twice', knowing(({ attractions }) => attractions.push(attractions[0]!)), 'ambiguous_name'],
    [
      'two distances of one way',
      knowing(({ distances }) => distances.push({ ...distances[0]!, distance: '1 km' })),
      'repeated_row',
    ],
    [
      'a flight number twice',
      knowing(({ flights }) => flights.push({ ...flights[0]!, Price: 1 }), 0),
      'repeated_row',
    ],
    [
      'a name that breaks a plan',
      knowing(({ restaurants }) => (restaurants[0]!.Name = 'Salt; Pepper')),
      'wrong_schema',
    ],
    ['a city that reads as a way', withQuery({ org: 'Porto Alegre' }), 'wrong_schema'],
    [
      'no day of the calendar',
      withQuery({ date: ['2031-02-30', '2031-03-01', '2031-03-02'] }),
      'wrong_schema',
    ],
  ])('with %s is no task', (_, task, reason) => {
    expect(reasonOf(world, copy())).toBe('valid');
    expect(reasonOf(world, task)).toBe(reason);
  });

  it('may go to a state with several cities for more than three days', () => {
    const task = copy(1);
    const day = (number: number, rest: Partial<Day>): Day => ({
      days: number,
      current_city: 'Brookmouth',
      transportation: '-',
      breakfast: '-',
      attraction: '-',
      lunch: '-',
      dinner: '-',
      accommodation: 'Harbour Loft, Brookmouth',
      ...rest,
    });
    const at = (name: string): string => `${name}, Brookmouth`;
    const query = {
      ...task.query,
      days: 4,
      dest: 'Eastmark',
      date: ['2031-05-10', '2031-05-11', '2031-05-12', '2031-05-13'],
    };
    const extra = { Name: 'Ninth Table', 'Average Cost': 20, Cuisines: 'Cafe, Tea', City: 'Brookmouth' };
    const plan = [
      task.plan[0]!,
      task.plan[1]!,
      day(3, {
        breakfast: at('Blue Oven'),
        attraction: `${at('Heron Marsh Walk')};`,
        lunch: at('Early Crust'),
        dinner: at('Ninth Table'),
      }),
      { ...task.plan[2]!, days: 4, breakfast: '-' },
    ];
    const longer = {
      query,
      information: { ...task.information, restaurants: [...task.information.restaurants, extra] },
      plan,
    };
    expect(reasonOf(world, longer)).toBe('valid');
    expect(reasonOf(world, { ...longer, query: { ...query, dest: 'Northmark' } })).toBe('unknown_city');
    expect(world.agentPrompt(specOf(world, longer))).toContain('Brookmouth is in Eastmark.');
  });

  it('is asked for with what the schema cannot say of names, flights and ways', () => {
    const prompt = world.environmentPrompt(emptyHistory(), specOf(world, copy()));
    expect(prompt).toContain('No name may be part of another of its kind in the same city.');
    expect(prompt).toContain(
      'Each flight number stands once, and so does each way from one city to another.',
    );
  });

  it('has no vote, since no label is its word', () => {
    expect(world.vote).toBeUndefined();
  });
});

describe('the query', () => {
  it('is worded by code from its parts, all of them', () => {
    expect(
      queryText({
        ...copy(3).query,
        local_constraint: {
          'house rule': 'pets',
          cuisine: ['Mexican', 'Indian'],
          'room type': 'not shared room',
          transportation: 'no flight',
        },
      }),
    ).toBe(
      'Please plan a trip of 3 days from Valeridge to Brookmouth and back, 2031-06-20 to 2031-06-22, for 4 people. The budget for all is $1500. Accommodations must allow pets. At least one meal of each of these cuisines is wanted: Mexican, Indian. Accommodations must be rooms that are not shared. There must be no flight.',
    );
  });

  it('stands in the benchmark’s own prompt, which holds none of its questions, beside all of the sandbox', () => {
    for (const task of tasks) {
      const prompt = world.agentPrompt(specOf(world, task));
      expect(findContamination(prompt)).toBeNull();
      expect(prompt).toContain(`Query: ${queryText(task.query)}\nTravel Plan:`);
      const { restaurants, accommodations, attractions, flights } = task.information;
      for (const name of [
        ...restaurants.map(({ Name }) => Name),
        ...accommodations.map(({ NAME }) => NAME),
        ...attractions.map(({ Name }) => Name),
        ...flights.map((row) => row['Flight Number']),
      ])
        expect(prompt).toContain(name);
    }
  });
});

it('a blind guess has the right form in every task', () => {
  for (const task of tasks)
    for (let seed = 0; seed < 20; seed++)
      expect(
        world.score(specOf(world, task), world.randomAnswer(specOf(world, task), randomStream(seed)))
          .wellFormed,
      ).toBe(true);
});
