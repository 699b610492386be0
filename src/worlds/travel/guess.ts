import type { RandomStream } from '../../coevolution/seeds.ts';
import { drivingText } from './sandbox.ts';
import type { TravelPlan, TravelTask } from './task-schema.ts';

/** A plan of the right shape: there, and back on the last day, with places of the city drawn blindly. */
export function guessPlan(
  {
    query: { org, days, date },
    information: { cities, flights, restaurants, accommodations, attractions, distances },
  }: TravelTask,
  random: RandomStream,
): TravelPlan {
  const city = random.pick(cities.map((one) => one.city).filter((one) => one !== org));
  const some = (texts: readonly string[]): string => (texts.length === 0 ? '-' : random.pick(texts));
  const way = (from: string, to: string, on: string): string =>
    some([
      ...flights
        .filter((row) => row.OriginCityName === from && row.DestCityName === to && row.FlightDate === on)
        .map(
          (row) =>
            `Flight Number: ${row['Flight Number']}, from ${from} to ${to}, Departure Time: ${row.DepTime}, Arrival Time: ${row.ArrTime}`,
        ),
      ...distances
        .filter(({ origin, destination }) => origin === from && destination === to)
        .flatMap((row) => [drivingText(row, 'self-driving'), drivingText(row, 'taxi')]),
    ]);
  const at = (names: readonly string[]): string[] => names.map((name) => `${name}, ${city}`);
  const meals = at(restaurants.filter(({ City }) => City === city).map(({ Name }) => Name));
  const sights = at(attractions.filter(({ City }) => City === city).map(({ Name }) => Name));
  const rooms = at(accommodations.filter((row) => row.city === city).map(({ NAME }) => NAME));
  return date.slice(0, days).map((on, index) => {
    const [first, last] = [index === 0, index === days - 1];
    const [from, to] = first ? [org, city] : [city, org];
    const sight = some(sights);
    return {
      days: index + 1,
      current_city: first || last ? `from ${from} to ${to}` : city,
      transportation: first || last ? way(from, to, on) : '-',
      breakfast: first ? '-' : some(meals),
      attraction: sight === '-' ? sight : `${sight};`,
      lunch: some(meals),
      dinner: some(meals),
      accommodation: last ? '-' : some(rooms),
    };
  });
}
