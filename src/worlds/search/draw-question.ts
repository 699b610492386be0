import type { RandomStream } from '../../numerics/random.ts';
import type { Corpus } from './corpus.ts';
import { entityTypes, relationsFrom } from './relations.ts';
import type { EntityType, Relation, ValueType } from './relations.ts';
import { findFlaw } from './task.ts';
import type { Question } from './task.ts';

const MAX_TRIES = 1_000;

export interface QuestionWanted {
  hops: number;
  start?: EntityType;
  /** About entities that are kept for held-out tasks; otherwise about none of them. */
  isHeldOut?: boolean;
}

/** A random sound question. */
export function drawQuestion(random: RandomStream, corpus: Corpus, wanted: QuestionWanted): Question {
  const { names, heldOutFrom } = corpus;
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const type = wanted.start ?? random.pick(entityTypes).code;
    const number =
      wanted.isHeldOut === true
        ? heldOutFrom + random.int(names[type].length - heldOutFrom)
        : random.int(heldOutFrom);
    const question = { start: { type, number }, chain: drawChain(random, type, wanted.hops) };
    if (findFlaw(question, corpus) === undefined) return question;
  }
  throw new RangeError(
    `no chain of ${wanted.hops} relations was found that does not come back to where it was`,
  );
}

/** So many relations, each from where the one before leads; only the last may lead to a value. */
function drawChain(random: RandomStream, from: EntityType | ValueType, hops: number): Relation[] {
  const next = relationsFrom(from).filter(({ to }) => hops === 1 || relationsFrom(to).length > 0);
  const relation = random.pick(next);
  return hops === 1 ? [relation] : [relation, ...drawChain(random, relation.to, hops - 1)];
}

/** A variation of a question: another start, another last relation, one hop more or less, or all anew. */
export function varyQuestion(
  random: RandomStream,
  question: Question,
  corpus: Corpus,
  { maxHops, easyTail }: { maxHops: number; easyTail: number },
): Question {
  const hops = question.chain.length;
  if (random.next() < easyTail) return drawQuestion(random, corpus, { hops: 1 + random.int(hops) });
  const kept = question.chain.slice(0, -1);
  const from = kept.at(-1)?.to ?? question.start.type;
  const lengthened = [...kept, ...drawChain(random, from, Math.min(2, maxHops - hops + 1))];
  const variations: (() => Question)[] = [
    () => ({ ...question, start: { ...question.start, number: random.int(corpus.heldOutFrom) } }),
    () => ({ ...question, chain: [...kept, ...drawChain(random, from, 1)] }),
    () => ({ ...question, chain: lengthened }),
    () => ({ ...question, chain: kept.length === 0 ? question.chain : kept }),
    () => drawQuestion(random, corpus, { hops }),
  ];
  const varied = random.pick(variations)();
  return findFlaw(varied, corpus) === undefined ? varied : drawQuestion(random, corpus, { hops });
}
