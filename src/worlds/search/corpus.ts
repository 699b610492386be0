import { deriveSeed, randomStream } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { entityTypes, relations } from './relations.ts';
import type { EntityType, Relation, ValueType } from './relations.ts';

/** A fact of the corpus. Names are unique in a corpus, entities and values together. */
export interface Fact {
  subject: string;
  relation: Relation;
  object: string;
}

export interface Corpus {
  /** Names of the entities of each type, in the order of their numbers. */
  names: Readonly<Record<EntityType, readonly string[]>>;
  facts: readonly Fact[];
  /** What a relation of an entity leads to. */
  objectOf(name: string, relation: Relation): string;
  /** All that an answer of a type could be. */
  valuesOf(type: EntityType | ValueType): readonly string[];
  /** Entities from this number on are kept for held-out tasks. */
  heldOutFrom: number;
}

/** A fifth of the entities of each type; their facts lead to each other and to values. */
const HELD_OUT_SHARE = 0.2;
/** Rivers, lands, trades and years that there are. */
const VALUES = 30;
const FIRST_YEAR = 1500;

const consonants = 'bdfghjklmnprstvz';
const vowels = 'aeiou';
/** Length of a name: two syllables. */
export const NAME_LENGTH = 4;

/** An invented corpus: nobody has read about it, and another seed has other names and other facts. */
export function createCorpus(seed: number, entities: number): Corpus {
  const random = randomStream(deriveSeed(seed, 'search-corpus'));
  const newName = createNamer(random);
  const draw = (count: number): string[] => Array.from({ length: count }, newName);
  const names = { w: draw(entities), p: draw(entities), c: draw(entities), f: draw(entities) };
  const values = { r: draw(VALUES), l: draw(VALUES), t: draw(VALUES), y: drawYears(random) };
  const heldOutFrom = entities - Math.max(2, Math.floor(entities * HELD_OUT_SHARE));
  const facts = relations.flatMap((relation) =>
    names[relation.from].map((subject, number): Fact => {
      const objects = isEntity(relation.to)
        ? partOf(names[relation.to], number >= heldOutFrom, heldOutFrom).filter((name) => name !== subject)
        : values[relation.to];
      return { subject, relation, object: random.pick(objects) };
    }),
  );
  const objects = new Map(
    facts.map(({ subject, relation, object }) => [`${subject} ${relation.word}`, object]),
  );
  return {
    names,
    facts,
    heldOutFrom,
    objectOf: (name, { word }) => {
      const object = objects.get(`${name} ${word}`);
      if (object === undefined) throw new RangeError(`the corpus has no ${word} of ${name}`);
      return object;
    },
    valuesOf: (type) => (isEntity(type) ? names[type] : values[type]),
  };
}

const isEntity = (type: EntityType | ValueType): type is EntityType =>
  entityTypes.some(({ code }) => code === type);

const partOf = (names: readonly string[], isHeldOut: boolean, heldOutFrom: number): readonly string[] =>
  isHeldOut ? names.slice(heldOutFrom) : names.slice(0, heldOutFrom);

/** Names of two syllables, none twice and none that is a word of a relation. */
function createNamer(random: RandomStream): () => string {
  const used = new Set<string>(relations.map(({ word }) => word));
  const syllable = (): string => random.pick([...consonants]) + random.pick([...vowels]);
  return () => {
    let name = syllable() + syllable();
    while (used.has(name)) name = syllable() + syllable();
    used.add(name);
    return name;
  };
}

/** Consecutive years would be guessed from each other; these are spread. */
const drawYears = (random: RandomStream): string[] =>
  random
    .shuffle(Array.from({ length: 10 * VALUES }, (_, index) => String(FIRST_YEAR + index)))
    .slice(0, VALUES);
