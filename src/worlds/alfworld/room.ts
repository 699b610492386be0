import { lamp, objectNamed, receptacleNamed, treatmentOf, treatments } from './household.ts';
import type { Treatment } from './household.ts';
import type { Goal, HouseTask } from './task.ts';

/** The room and its rules: those of ALFWorld's games, without slicing and without limits of what fits where. */

export interface Thing {
  /** `m1`. */
  id: string;
  code: string;
  isClean: boolean;
  temperature: 'hot' | 'cool' | null;
}

export interface Place {
  /** `C2`. */
  id: string;
  code: string;
  isOpenable: boolean;
  isOpen: boolean;
  things: Thing[];
  /** The agent has seen what is in it. */
  isSeen: boolean;
}

export interface Room {
  places: readonly Place[];
  at: Place | undefined;
  held: Thing | undefined;
  /** Ids of the lamps that were switched on. */
  lit: readonly string[];
}

/** A command, with ids as in the room. */
export type HouseAction =
  | { verb: 'go'; place: string }
  | { verb: 'open' | 'close'; place: string }
  /** Without a place, where the agent is. */
  | { verb: 'take' | 'move' | Treatment['verb']; thing: string; place?: string }
  | { verb: 'use'; thing: string }
  | { verb: 'look' | 'inventory' };

/** What came of an action; `failed` = nothing happened. */
export type HouseOutcome = { action: HouseAction; place?: Place } | 'failed';

export function createRoom({ receptacles }: HouseTask): Room {
  const counts = new Map<string, number>();
  const numbered = (code: string): string => {
    const number = (counts.get(code) ?? 0) + 1;
    counts.set(code, number);
    return `${code}${number}`;
  };
  const places = receptacles.map(({ type, objects }): Place => {
    const { isOpenable } = receptacleNamed(type)!;
    return {
      id: numbered(type),
      code: type,
      isOpenable,
      isOpen: !isOpenable,
      things: objects.map((code) => ({ id: numbered(code), code, isClean: false, temperature: null })),
      isSeen: false,
    };
  });
  return { places, at: undefined, held: undefined, lit: [] };
}

/** Changes the room by an action, if it can be done now. */
export function act(room: Room, action: HouseAction): HouseOutcome {
  switch (action.verb) {
    case 'look':
    case 'inventory':
      return { action };
    case 'go': {
      const place = room.places.find(({ id }) => id === action.place);
      if (place === undefined) return 'failed';
      room.at = place;
      if (place.isOpen) place.isSeen = true;
      return { action, place };
    }
    case 'use': {
      const isHere = room.at?.isOpen === true && room.at.things.some(({ id }) => id === action.thing);
      if (!isHere || !action.thing.startsWith(lamp.code)) return 'failed';
      room.lit = [...room.lit, action.thing];
      return { action };
    }
    default: {
      const place = room.at;
      if (place === undefined) return 'failed';
      const isHere = action.place === undefined || action.place === place.id;
      return isHere && actAt(room, place, action) ? { action, place } : 'failed';
    }
  }
}

type ActionAtPlace = Exclude<HouseAction, { verb: 'go' | 'use' | 'look' | 'inventory' }>;

/** Whether the action could be done at the place. */
function actAt(room: Room, place: Place, action: ActionAtPlace): boolean {
  switch (action.verb) {
    case 'open':
    case 'close': {
      const isOpen = action.verb === 'open';
      if (!place.isOpenable || place.isOpen === isOpen) return false;
      place.isOpen = isOpen;
      if (isOpen) place.isSeen = true;
      return true;
    }
    case 'take': {
      const thing = place.things.find(({ id }) => id === action.thing);
      if (thing === undefined || thing.code === lamp.code || room.held !== undefined || !place.isOpen)
        return false;
      place.things = place.things.filter((candidate) => candidate !== thing);
      room.held = thing;
      return true;
    }
    case 'move': {
      if (room.held?.id !== action.thing || !place.isOpen) return false;
      place.things = [...place.things, room.held];
      room.held = undefined;
      return true;
    }
    default:
      return room.held?.id === action.thing && treat(room.held, action.verb, place);
  }
}

function treat(thing: Thing, verb: Treatment['verb'], place: Place): boolean {
  const { tool } = treatments.find((treatment) => treatment.verb === verb)!;
  if (place.code !== tool || !objectNamed(thing.code)!.treatments.includes(verb)) return false;
  if (verb === 'clean') thing.isClean = true;
  else thing.temperature = verb === 'heat' ? 'hot' : 'cool';
  return true;
}

/** Whether the thing has had the treatment that the goal asks for, or none is asked for. */
export function isTreated(thing: Thing, { kind }: Goal): boolean {
  const adjective = treatmentOf(kind)?.adjective;
  if (adjective === undefined) return true;
  return adjective === 'clean' ? thing.isClean : thing.temperature === adjective;
}

/** Whether the goal is reached, as ALFWorld's goals say it. */
export function isGoalReached(room: Room, goal: Goal): boolean {
  if (goal.kind === 'l') {
    const isUnderLamp = room.at?.things.some(({ id }) => room.lit.includes(id)) === true;
    return isUnderLamp && room.held?.code === goal.object;
  }
  const wanted = goal.kind === 'd' ? 2 : 1;
  return room.places.some(
    ({ code, things }) =>
      code === goal.target &&
      things.filter((thing) => thing.code === goal.object && isTreated(thing, goal)).length >= wanted,
  );
}

/** A rollout so far. */
export interface PlayedHouse {
  room: Room;
  outcomes: HouseOutcome[];
  won: boolean;
  /** Won, or out of turns. */
  over: boolean;
}

/** Plays actions from the beginning, up to the win or the limit of turns; undefined = no command. */
export function playHouse(
  task: HouseTask,
  actions: readonly (HouseAction | undefined)[],
  turns: number,
): PlayedHouse {
  const room = createRoom(task);
  const outcomes: HouseOutcome[] = [];
  let won = isGoalReached(room, task.goal);
  for (const action of actions.slice(0, turns)) {
    if (won) break;
    outcomes.push(action === undefined ? 'failed' : act(room, action));
    won = isGoalReached(room, task.goal);
  }
  return { room, outcomes, won, over: won || outcomes.length >= turns };
}
