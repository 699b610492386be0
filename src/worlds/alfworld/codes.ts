import { historyPrompt } from '../history-digits.ts';
import type { HouseForm } from './form.ts';
import { goalKinds } from './household.ts';
import { createRoom } from './room.ts';
import type { HouseAction, Place } from './room.ts';
import { goalText } from './task.ts';
import type { HouseLimits } from './task.ts';

/**
 * Short codes, for models from scratch: `gC2` goes to cabinet 2, `oC2` opens and `sC2` shuts it, `tm1` takes
 * mug 1 from where the agent is, `pm1` puts it there, `nm1`, `hm1` and `km1` clean, heat and cool it there,
 * `ul1` uses the lamp. Observations: what is in it (`m1e1`, or `-`), `x` if it is closed, `ok`, or `?` if
 * nothing happened.
 */
export const ACTION_LENGTH = 3;

/** Length of the longest observation: all objects in one receptacle. */
export const maxObservationLength = ({ objects }: Pick<HouseLimits, 'objects'>): number => 2 * objects + 1;

/** Length of the agent's prompt: the goal, the receptacles in fixed slots, and `=`. */
export const promptLength = ({ receptacles }: Pick<HouseLimits, 'receptacles'>): number =>
  'cm>T|='.length + 2 * receptacles;

const verbByLetter = {
  g: 'go',
  o: 'open',
  s: 'close',
  t: 'take',
  p: 'move',
  n: 'clean',
  h: 'heat',
  k: 'cool',
  u: 'use',
} as const;

export const createCodesForm = (limits: HouseLimits): HouseForm => ({
  agentPrompt: (task) => {
    const receptacles = createRoom(task).places.map(({ id }) => id);
    return `${goalText(task.goal)}|${receptacles.join('').padEnd(2 * limits.receptacles, '_')}=`;
  },
  parseAction,
  printAction: (action) => {
    const [letter] = Object.entries(verbByLetter).find(([, verb]) => verb === action.verb) ?? [];
    if (letter === undefined) throw new RangeError(`${action.verb} has no code`);
    if ('thing' in action) return letter + action.thing;
    return letter + ('place' in action ? action.place : '');
  },
  observation: (_, outcome) => {
    if (outcome === 'failed') return '?=';
    const { action, place } = outcome;
    const isSight = action.verb === 'go' || action.verb === 'open';
    return `${place !== undefined && isSight ? contents(place) : 'ok'}=`;
  },
  simulatorPrompt: (history, seedTask) => historyPrompt(history, seedTask, goalKinds),
});

function parseAction(text: string): HouseAction | undefined {
  const [, letter, id = ''] = /^([gostpnhku])([a-zA-Z][1-9])$/.exec(text) ?? [];
  if (letter === undefined) return undefined;
  const verb = verbByLetter[letter as keyof typeof verbByLetter];
  const isPlace = /^[A-Z]/.test(id);
  if (verb === 'go' || verb === 'open' || verb === 'close') return isPlace ? { verb, place: id } : undefined;
  return isPlace ? undefined : { verb, thing: id };
}

const contents = ({ isOpen, things }: Place): string => {
  if (!isOpen) return 'x';
  return things.length === 0 ? '-' : things.map(({ id }) => id).join('');
};
