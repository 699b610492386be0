import { deriveSeed } from '../../numerics/random.ts';
import { historyPrompt } from '../history-digits.ts';
import { framePrompt } from '../json-tasks/prompts.ts';
import type { Format } from '../json-tasks/prompts.ts';
import { frameObservation } from '../turn-actions.ts';
import type { HouseForm } from './form.ts';
import { goalKinds, lamp, objectTypes, receptacleTypes, spokenName } from './household.ts';
import type { GoalKind } from './household.ts';
import { createRoom } from './room.ts';
import type { HouseAction, HouseOutcome, Place, Room } from './room.ts';
import { houseSpec } from './task.ts';
import type { HouseTask } from './task.ts';

/** ALFWorld's own words (grammar of alfworld 0.4.2), for models that know English. */
export const createWordsForm = (format: Format): HouseForm => ({
  agentPrompt: (task) => framePrompt(format, rules, `${roomText(createRoom(task))}\n\n${goalPhrase(task)}`),
  parseAction,
  printAction,
  observation: (room, outcome) => {
    const text = outcomeText(room, outcome);
    return frameObservation(format, text);
  },
  simulatorPrompt: (history, seedTask) => {
    const digits = historyPrompt(history, '', goalKinds).slice(0, -'|='.length);
    return framePrompt(format, 'Write one household task.', `Agent: ${digits}\nVary: ${seedTask}`);
  },
});

const rules = `Interact with a household to solve a task. Answer with one command:
go to X, open X, close X, take X from Y, move X to Y, clean X with Y, heat X with Y, cool X with Y, use X, look, inventory`;

/** Characters of all texts of this form but control marks, for tokenizers. */
export const wordsCharacters = [
  ...new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n_-=,.:\'"<|>?'),
];

type Phrase = (object: string, target: string) => string;

/** Two wordings of each goal, as in ALFWorld's own games. */
const goalPhrases: Record<GoalKind, readonly [Phrase, Phrase]> = {
  p: [(x, y) => `put a ${x} in ${y}.`, (x, y) => `put some ${x} on ${y}.`],
  c: [(x, y) => `put a clean ${x} in ${y}.`, (x, y) => `clean some ${x} and put it in ${y}.`],
  h: [(x, y) => `put a hot ${x} in ${y}.`, (x, y) => `heat some ${x} and put it in ${y}.`],
  k: [(x, y) => `put a cool ${x} in ${y}.`, (x, y) => `cool some ${x} and put it in ${y}.`],
  l: [(x) => `look at ${x} under the ${lamp.name}.`, (x) => `examine the ${x} with the ${lamp.name}.`],
  d: [(x, y) => `put two ${x} in ${y}.`, (x, y) => `find two ${x} and put them in ${y}.`],
};

/** The wording follows from a hash of the task, so a task has one prompt. */
function goalPhrase(task: HouseTask): string {
  const { kind, object, target } = task.goal;
  const phrase = goalPhrases[kind][deriveSeed('alfworld', houseSpec(task)) % 2]!;
  const nameOf = (code: string): string => spokenName(code).trim();
  return `Your task is to: ${phrase(nameOf(object), nameOf(target))}`;
}

/** `a mug 1, and a plate 2`, or `nothing`. */
function listOf(ids: readonly string[]): string {
  const names = ids.map((id) => `a ${spokenName(id)}`);
  if (names.length === 0) return 'nothing';
  return names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')}, and ${names.at(-1)!}`;
}

const idsOf = (all: readonly { id: string }[]): string[] => all.map(({ id }) => id);

function roomText({ places, at }: Room): string {
  return at === undefined
    ? `You are in the middle of a room. Looking quickly around you, you see ${listOf(idsOf(places))}.`
    : `You are facing the ${spokenName(at.id)}. Next to it, you see nothing.`;
}

function sight({ id, isOpenable, isOpen, things }: Place): string {
  const name = spokenName(id);
  if (!isOpen) return `The ${name} is closed.`;
  return isOpenable
    ? `The ${name} is open. In it, you see ${listOf(idsOf(things))}.`
    : `On the ${name}, you see ${listOf(idsOf(things))}.`;
}

function outcomeText(room: Room, outcome: HouseOutcome): string {
  if (outcome === 'failed') return 'Nothing happens.';
  const { action, place } = outcome;
  const placeName = place === undefined ? '' : spokenName(place.id);
  const thing = 'thing' in action ? spokenName(action.thing) : '';
  switch (action.verb) {
    case 'go':
      return `You arrive at ${placeName}. ${sight(place!)}`;
    case 'open':
      return `You open the ${placeName}. ${sight(place!)}`;
    case 'close':
      return `You close the ${placeName}.`;
    case 'take':
      return `You pick up the ${thing} from the ${placeName}.`;
    case 'move':
      return `You move the ${thing} to the ${placeName}.`;
    case 'use':
      return `You turn on the ${thing}.`;
    case 'look':
      return roomText(room);
    case 'inventory':
      return room.held === undefined
        ? 'You are not carrying anything.'
        : `You are carrying: ${listOf([room.held.id])}.`;
    default:
      return `You ${action.verb} the ${thing} using the ${placeName}.`;
  }
}

const codeByName = new Map(
  [...receptacleTypes, ...objectTypes, lamp].map(({ code, name }): [string, string] => [name, code]),
);
const placeCodes = new Set(receptacleTypes.map(({ code }) => code));

/** The id that a name such as `mug 1` stands for, if it is one of a receptacle, or of an object. */
function idOf(name: string, isPlace: boolean): string | undefined {
  const [word = '', number = ''] = name.split(' ');
  const code = codeByName.get(word);
  return code !== undefined && placeCodes.has(code) === isPlace ? code + number : undefined;
}

const prepositions = { take: 'from', move: 'to', clean: 'with', heat: 'with', cool: 'with' } as const;

function parseAction(answer: string): HouseAction | undefined {
  const text = answer.trimEnd();
  if (text === 'look' || text === 'inventory') return { verb: text };
  const [, verb, name = ''] = /^(go to|open|close|use) ([a-z]{1,12} [1-9])$/.exec(text) ?? [];
  if (verb !== undefined) {
    const id = idOf(name, verb !== 'use');
    if (id === undefined) return undefined;
    if (verb === 'use') return { verb, thing: id };
    return { verb: verb === 'go to' ? 'go' : (verb as 'open' | 'close'), place: id };
  }
  const match = /^(take|move|clean|heat|cool) ([a-z]{1,12} [1-9]) (from|to|with) ([a-z]{1,12} [1-9])$/.exec(
    text,
  );
  if (match === null) return undefined;
  const both = match[1] as keyof typeof prepositions;
  const [thing, place] = [idOf(match[2]!, false), idOf(match[4]!, true)];
  if (prepositions[both] !== match[3] || thing === undefined || place === undefined) return undefined;
  return { verb: both, thing, place };
}

function printAction(action: HouseAction): string {
  switch (action.verb) {
    case 'look':
    case 'inventory':
      return action.verb;
    case 'go':
      return `go to ${spokenName(action.place)}`;
    case 'open':
    case 'close':
      return `${action.verb} ${spokenName(action.place)}`;
    case 'use':
      return `use ${spokenName(action.thing)}`;
    default:
      return `${action.verb} ${spokenName(action.thing)} ${prepositions[action.verb]} ${spokenName(action.place ?? '')}`;
  }
}
