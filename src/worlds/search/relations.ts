/** The relations of the invented corpus: from an entity of one type to an entity or a value of another. */

export type EntityType = 'w' | 'p' | 'c' | 'f';
/** Values end a chain: nothing is known about them. */
export type ValueType = 'r' | 'l' | 't' | 'y';

export interface Relation {
  /** In task texts; each relation has its own. */
  code: string;
  /** In questions, queries and passages. */
  word: string;
  from: EntityType;
  to: EntityType | ValueType;
}

export const entityTypes: readonly { code: EntityType; noun: string }[] = [
  { code: 'w', noun: 'novel' },
  { code: 'p', noun: 'person' },
  { code: 'c', noun: 'city' },
  { code: 'f', noun: 'firm' },
];

export const relations: readonly Relation[] = [
  { code: 'a', word: 'author', from: 'w', to: 'p' },
  { code: 's', word: 'scene', from: 'w', to: 'c' },
  { code: 'y', word: 'year', from: 'w', to: 'y' },
  { code: 'h', word: 'home', from: 'p', to: 'c' },
  { code: 'm', word: 'mentor', from: 'p', to: 'p' },
  { code: 'e', word: 'firm', from: 'p', to: 'f' },
  { code: 'g', word: 'mayor', from: 'c', to: 'p' },
  { code: 'r', word: 'river', from: 'c', to: 'r' },
  { code: 'l', word: 'land', from: 'c', to: 'l' },
  { code: 'o', word: 'owner', from: 'f', to: 'p' },
  { code: 'q', word: 'seat', from: 'f', to: 'c' },
  { code: 't', word: 'trade', from: 'f', to: 't' },
];

export const relationNamed = (code: string): Relation | undefined =>
  relations.find((relation) => relation.code === code);

export const relationsFrom = (type: EntityType | ValueType): readonly Relation[] =>
  relations.filter(({ from }) => from === type);
