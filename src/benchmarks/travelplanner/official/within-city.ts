import { MalformedPlan, isFilled } from '../data/plan.ts';
import { citiesOf } from './city-route.ts';
import { meals } from './constraint.ts';
import type { Constraint } from './constraint.ts';
import { attractionsOf } from './diversity.ts';

/**
 * What a day names is in a city of that day: transportation in all of them, meals and attractions in one, accommodation in the last. The
 * official evaluation takes a day with one city for a list of the letters of its name: almost any text holds one of them, so only
 * transportation (every letter) and accommodation (the last letter) can break the constraint there.
 */
export const withinCurrentCity: Constraint = ({ days }) => {
  for (const [index, day] of days.entries()) {
    const named = citiesOf(day, index + 1);
    const cities = named.length === 2 ? named : [...named[0]];
    const somewhere = (text: string): boolean => cities.some((city) => text.includes(city));
    const { transportation, accommodation } = day;
    if (isFilled(transportation) && !cities.every((city) => transportation.includes(city)))
      return `transportation of day ${index + 1} is in another city`;
    for (const meal of meals) {
      const text = day[meal];
      if (isFilled(text) && !somewhere(text)) return `${meal} of day ${index + 1} is in another city`;
    }
    if (!attractionsOf(day.attraction).every(somewhere))
      return `an attraction of day ${index + 1} is in another city`;
    if (isFilled(accommodation)) {
      const last = cities.at(-1);
      if (last === undefined) throw new MalformedPlan(`current_city of day ${index + 1} is empty`);
      if (!accommodation.includes(last)) return `accommodation of day ${index + 1} is in another city`;
    }
  }
  return null;
};
