import type { TaskSpec } from '../world.ts';
import type { Corpus } from './corpus.ts';
import { entityTypes, relationNamed, relations, relationsFrom } from './relations.ts';
import type { EntityType, Relation, ValueType } from './relations.ts';

/**
 * A question as the simulator writes it: `w12ahg` is "the mayor of the home of the author of novel 12", a chain
 * of relations from an entity. Its number has two digits.
 */
export interface Question {
  start: { type: EntityType; number: number };
  chain: readonly Relation[];
}

export interface SearchLimits {
  entities: number;
  maxHops: number;
}

export const questionSpec = ({ start, chain }: Question): TaskSpec =>
  `${start.type}${String(start.number).padStart(2, '0')}${chain.map(({ code }) => code).join('')}`;

export const maxSpecLength = ({ maxHops }: Pick<SearchLimits, 'maxHops'>): number => 3 + maxHops;

/** Parses a question and checks that its relations fit each other; `findFlaw` checks it with the corpus. */
export function parseQuestion(
  text: string,
  { entities, maxHops }: SearchLimits,
): { question: Question } | { reason: string } {
  if (text === '') return { reason: 'empty' };
  const match = /^([wpcf])(\d\d)([a-z]{1,9})$/.exec(text);
  if (match === null) return { reason: 'unparsable' };
  const start = { type: match[1] as EntityType, number: Number(match[2]) };
  if (start.number >= entities) return { reason: 'unknown_entity' };
  const codes = match[3]!;
  if (codes.length > maxHops) return { reason: 'too_many_hops' };
  const chain: Relation[] = [];
  let type: EntityType | ValueType = start.type;
  for (const code of codes) {
    const relation = relationNamed(code);
    if (relation?.from !== type) return { reason: 'bad_relation' };
    chain.push(relation);
    type = relation.to;
  }
  return { question: { start, chain } };
}

/** The names along the chain, the start first and the answer last. */
export function namesAlong({ start, chain }: Question, corpus: Corpus): string[] {
  const names = [corpus.names[start.type][start.number]!];
  for (const relation of chain) names.push(corpus.objectOf(names.at(-1)!, relation));
  return names;
}

export const isHeldOutQuestion = ({ start }: Question, { heldOutFrom }: Corpus): boolean =>
  start.number >= heldOutFrom;

/** Why a question that parses is not worth asking; undefined if it is sound. */
export function findFlaw(question: Question, corpus: Corpus): string | undefined {
  const names = namesAlong(question, corpus);
  return new Set(names).size < names.length ? 'loop' : undefined;
}

/**
 * The simulator's texts as a grammar in xgrammar's EBNF: bounded, and relations fit each other. What it cannot
 * say is which entities there are, and that a chain comes back to one of its entities.
 */
export function questionGrammar({ maxHops }: Pick<SearchLimits, 'maxHops'>): string {
  const types = entityTypes.map(({ code }) => code);
  const rules = Array.from({ length: maxHops }, (_, index) => index + 1).flatMap((hops) =>
    types.map((type) => {
      const alternatives = relationsFrom(type).map(({ code, to }) => {
        const continues = hops > 1 && relations.some(({ from }) => from === to);
        return continues ? `"${code}" ("" | ${to}_${hops - 1})` : `"${code}"`;
      });
      return `${type}_${hops} ::= ${alternatives.join(' | ')}`;
    }),
  );
  const roots = types.map((type) => `"${type}" [0-9] [0-9] ${type}_${maxHops}`);
  return [`root ::= ${roots.join(' | ')}`, ...rules].join('\n');
}
