import { findPlan } from '../../benchmarks/travelplanner/case-verdict.ts';
import { referenceText } from '../../benchmarks/travelplanner/prompts/data-text.ts';
import { plannerQuestion } from '../../benchmarks/travelplanner/prompts/planner.ts';
import { queryText } from '../../benchmarks/travelplanner/query-text.ts';
import { strictVerdict } from '../../benchmarks/travelplanner/strict/strict-verdict.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { createJsonTaskWorld } from '../json-tasks/json-task-world.ts';
import type { JsonTaskDefinition } from '../json-tasks/json-task-world.ts';
import type { OwnTasks } from '../json-tasks/tasks-file.ts';
import type { World } from '../world.ts';
import { travelOutputSchema } from './output-schema.ts';
import { benchmarkQuery, buildSandbox, drivingText, referenceInformation } from './sandbox.ts';
import type { TravelSettings } from './settings.ts';
import { travelTaskSchema } from './task-schema.ts';
import type { TravelPlan, TravelTask } from './task-schema.ts';
import { validateTravelTask } from './validate.ts';

/**
 * Travel plans as in TravelPlanner: a query, a small sandbox, and constraints that code checks. No model
 * decides a label: the simulator's own plan only shows that its task can be solved, and code words the query.
 * @param own tasks of `tasksFile`, which `worldLoader` reads
 */
export const createTravel = (settings: TravelSettings, own?: OwnTasks): World =>
  createJsonTaskWorld(travelDefinition(), settings, own);

export function travelDefinition(): JsonTaskDefinition<TravelTask> {
  return {
    name: 'travel',
    schema: travelTaskSchema,
    outputSchema: travelOutputSchema(),
    instructions,
    validate: validateTravelTask,
    question: (task) => {
      const { query, information } = restoreFieldOrder(task);
      return {
        user: plannerQuestion(referenceText(referenceInformation(information, query.days)), queryText(query))
          .messages[0]!.content,
      };
    },
    kind: ({ query: { days } }) => `days_${days}`,
    signature: ({ query: { org, dest, days } }) => `${days} days from ${org} to ${dest}`,
    difficultyUnit: 'days, cities and constraints',
    difficulty: ({ query }) => query.days + query.visiting_city_number - 2 + countConstraints(query),
    latents: ({ query, information }) => ({
      days: query.days,
      cities: query.visiting_city_number,
      people: query.people_number,
      constraints: countConstraints(query),
      places:
        information.restaurants.length + information.accommodations.length + information.attractions.length,
    }),
    score: (task, answer) => {
      const plan = findPlan(answer);
      const { passes, why } = strictVerdict(benchmarkQuery(task), plan, buildSandbox(task.information));
      return { reward: passes ? 1 : 0, wellFormed: plan !== null && why.plan === undefined };
    },
    referenceAnswer: (task) => JSON.stringify(restoreFieldOrder(task).plan),
    randomAnswer: (task, random) => JSON.stringify(randomPlan(task, random)),
    renderAnswer: (answer) => ({ plan: findPlan(answer), response: answer }),
  };
}

/** Restores the benchmark's order of columns and fields; a spec has them sorted. */
const restoreFieldOrder = (task: TravelTask): TravelTask => travelTaskSchema.parse(task);

/** The number of hard constraints other than the budget, each cuisine counted. */
const countConstraints = ({ local_constraint: { cuisine, ...constraints } }: TravelTask['query']): number =>
  (cuisine?.length ?? 0) + Object.values(constraints).filter((constraint) => constraint !== null).length;

const instructions = `You write training tasks in travel planning for an agent. A task is one JSON object of the form of the task to vary; anything else is worth nothing.
- query: where from (org) and to (dest: a city for up to 3 days, a state for more), days (2 to 7) with their dates, number of cities and of people, budget in dollars for all, and local_constraint, where null asks for nothing. It is put into words for the agent.
- information: all that the agent is given: cities with their states, flights, restaurants, accommodations, attractions and driving distances. Up to 3 days there are no cities but org and dest. No name may be part of another of its kind in the same city. Each flight number stands once, and so does each way from one city to another.
- plan: one day for each, which shows that the task can be solved. It must keep the whole query: begin and end in org; name only what is in the information, as "Name, City", attractions with a semicolon after each; never the same restaurant or attraction twice; stay the minimum of nights; cost no more than the budget (flights and meals by person, a car for 5 people, a taxi for 4, rooms by their maximum occupancy each night).
Harder tasks have a smaller budget, more constraints, days or people, and information that tempts; easier ones leave more choices that work.`;

/** A random plan of the right shape: to a city, and back on the last day, with random places of that city. */
export function randomPlan(
  {
    query: { org, days, date },
    information: { cities, flights, restaurants, accommodations, attractions, distances },
  }: TravelTask,
  random: RandomStream,
): TravelPlan {
  const city = random.pick(cities.map((place) => place.city).filter((name) => name !== org));
  const pickOrDash = (texts: readonly string[]): string => (texts.length === 0 ? '-' : random.pick(texts));
  const pickWay = (from: string, to: string, day: string): string =>
    pickOrDash([
      ...flights
        .filter((row) => row.OriginCityName === from && row.DestCityName === to && row.FlightDate === day)
        .map(
          (row) =>
            `Flight Number: ${row['Flight Number']}, from ${from} to ${to}, Departure Time: ${row.DepTime}, Arrival Time: ${row.ArrTime}`,
        ),
      ...distances
        .filter(({ origin, destination }) => origin === from && destination === to)
        .flatMap((row) => [drivingText(row, 'self-driving'), drivingText(row, 'taxi')]),
    ]);
  const inCity = (names: readonly string[]): string[] => names.map((name) => `${name}, ${city}`);
  const meals = inCity(restaurants.filter(({ City }) => City === city).map(({ Name }) => Name));
  const sights = inCity(attractions.filter(({ City }) => City === city).map(({ Name }) => Name));
  const rooms = inCity(accommodations.filter((row) => row.city === city).map(({ NAME }) => NAME));
  return date.slice(0, days).map((on, index) => {
    const [first, last] = [index === 0, index === days - 1];
    const [from, to] = first ? [org, city] : [city, org];
    const sight = pickOrDash(sights);
    return {
      days: index + 1,
      current_city: first || last ? `from ${from} to ${to}` : city,
      transportation: first || last ? pickWay(from, to, on) : '-',
      breakfast: first ? '-' : pickOrDash(meals),
      attraction: sight === '-' ? sight : `${sight};`,
      lunch: pickOrDash(meals),
      dinner: pickOrDash(meals),
      accommodation: last ? '-' : pickOrDash(rooms),
    };
  });
}
