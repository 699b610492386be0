import { isFilled, required } from '../data/plan.ts';
import { meals } from './constraint.ts';
import type { Constraint } from './constraint.ts';

/** No restaurant twice, by its text. */
export const diverseRestaurants: Constraint = ({ days }) => {
  const eaten = days.flatMap((day) => meals.map((meal) => day[meal]).filter(isFilled));
  const repeated = firstRepeated(eaten);
  return repeated === undefined ? null : `the restaurant ${repeated} is repeated`;
};

/** No attraction twice, by its text. */
export const diverseAttractions: Constraint = ({ days }) => {
  const repeated = firstRepeated(days.flatMap((day) => attractionsOf(day.attraction)));
  return repeated === undefined ? null : `the attraction ${repeated} is repeated`;
};

/** The attractions that the official evaluation looks at: those followed by a semicolon. A last one without is never checked. */
export function attractionsOf(text: string | null | undefined): string[] {
  return isFilled(text) ? text.split(';').slice(0, -1) : [];
}

/** Has transportation on the first day, and never self-driving beside a flight or a taxi. */
export const nonConflictingTransportation: Constraint = ({ days }) => {
  if (!isFilled(required(days[0]!, 'transportation', 1))) return 'there is no transportation on day 1';
  const kinds = new Set(
    days
      .map((day) => day.transportation)
      .filter(isFilled)
      .map(kindOf),
  );
  return kinds.has('self-driving') && (kinds.has('flight') || kinds.has('taxi'))
    ? 'transportation is conflicting'
    : null;
};

function kindOf(text: string): string | undefined {
  const lower = text.toLowerCase();
  return ['taxi', 'self-driving', 'flight'].find((kind) => lower.includes(kind));
}

function firstRepeated(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => seen.size === seen.add(text).size);
}
