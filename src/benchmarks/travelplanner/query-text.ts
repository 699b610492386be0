/** A query in its parts, as TravelPlanner's data sets write them. */
export interface TravelQuery {
  org: string;
  dest: string;
  days: number;
  visiting_city_number: number;
  date: readonly string[];
  people_number: number;
  local_constraint: {
    'house rule': string | null;
    cuisine: readonly string[] | null;
    'room type': 'shared room' | 'not shared room' | 'private room' | 'entire room' | null;
    transportation: string | null;
  };
  budget: number;
}

/** The query in words, written from its parts by code, so that plans are checked against what it says. */
export function queryText({
  org,
  dest,
  days,
  visiting_city_number: cities,
  date,
  people_number: people,
  local_constraint: constraints,
  budget,
}: TravelQuery): string {
  const rooms = {
    'shared room': 'shared rooms',
    'not shared room': 'rooms that are not shared',
    'private room': 'private rooms',
    'entire room': 'entire rooms',
  };
  const needs = [
    constraints['house rule'] && `Accommodations must allow ${constraints['house rule']}.`,
    constraints.cuisine &&
      `At least one meal of each of these cuisines is wanted: ${constraints.cuisine.join(', ')}.`,
    constraints['room type'] && `Accommodations must be ${rooms[constraints['room type']]}.`,
    constraints.transportation && `There must be ${constraints.transportation}.`,
  ].filter((need) => need !== null);
  const where = days > 3 ? `${cities} ${cities === 1 ? 'city' : 'cities'} in ${dest}` : dest;
  return [
    `Please plan a trip of ${days} days from ${org} to ${where} and back, ${date[0]!} to ${date.at(-1)!}, for ${people} ${people === 1 ? 'person' : 'people'}. The budget for all is $${budget}.`,
    ...needs,
  ].join(' ');
}
