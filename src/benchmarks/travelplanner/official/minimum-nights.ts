import { requiredText } from '../data/plan.ts';
import type { Constraint } from './constraint.ts';
import { accommodationsNamed } from './look-up.ts';

/** Nights in a row reach the accommodation's minimum. Where several accommodations have the name given, none is held to it. */
export const minimumNightsStay: Constraint = ({ days, sandbox }) => {
  const missing = days.findIndex((day) => day.accommodation === undefined);
  if (missing >= 0) return `day ${missing + 1} has no accommodation`;
  for (let at = 0; at < days.length;) {
    const start = at;
    while (at < days.length && days[at]!.accommodation === days[start]!.accommodation) at++;
    const text = requiredText(days[start]!, 'accommodation', start + 1);
    if (text === '' || text === '-') continue;
    const [found, ...others] = accommodationsNamed(sandbox, text);
    if (found !== undefined && others.length === 0 && at - start < found['minimum nights'])
      return `${text} takes guests for ${found['minimum nights']} nights or more`;
  }
  return null;
};
