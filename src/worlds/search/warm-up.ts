import { deriveSeed } from '../../numerics/random.ts';
import type { RandomStream } from '../../numerics/random.ts';
import { randomHistory } from '../history-digits.ts';
import type { CorpusRow } from '../world.ts';
import { createCorpus } from './corpus.ts';
import type { Corpus } from './corpus.ts';
import { drawQuestion, varyQuestion } from './draw-question.ts';
import { questionKinds } from './form.ts';
import type { SearchAction, SearchForm } from './form.ts';
import { createPassageIndex } from './passage-index.ts';
import type { PassageIndex } from './passage-index.ts';
import { relations } from './relations.ts';
import { playSearch } from './rollout.ts';
import type { SearchSettings } from './settings.ts';
import { namesAlong, questionSpec } from './task.ts';
import type { Question } from './task.ts';

/** Corpora that the agent is warmed up on. The world's own is none of them, so no fact of it is known beforehand. */
const WARM_UP_CORPORA = 16;

interface Searchable {
  corpus: Corpus;
  index: PassageIndex;
}

/** Rollouts that search for one relation after the other, in which some actions are random. */
export function* searchAgentCorpus(
  form: SearchForm,
  settings: SearchSettings,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const searchables = Array.from({ length: Math.min(rows, WARM_UP_CORPORA) }, (_, number): Searchable => {
    const corpus = createCorpus(deriveSeed(settings.seed, 'search-warm-up', number), settings.entities);
    return { corpus, index: createPassageIndex(corpus) };
  });
  for (let row = 0; row < rows; row++) {
    const searchable = random.pick(searchables);
    const hops = 1 + random.int(settings.maxHops);
    const question = drawQuestion(random, searchable.corpus, { hops });
    const texts = playNoisily(searchable, question, settings, random).map((action) =>
      form.printAction(action),
    );
    const [completion = '', ...later] = texts;
    const { results } = playSearch(
      searchable.index,
      texts.map((text) => form.parseAction(text)),
      settings,
    );
    yield {
      prompt: form.agentPrompt(question, searchable.corpus),
      completion,
      more: later.map((write, index) => ({ read: form.observation(results[index]), write })),
    };
  }
}

/** The reference, in which each action is random with probability 1 - accuracy, and then the right one follows. */
function playNoisily(
  { corpus }: Searchable,
  question: Question,
  { turns, warmUp }: SearchSettings,
  random: RandomStream,
): SearchAction[] {
  const reference = referenceActions(question, corpus);
  const actions: SearchAction[] = [];
  let next = 0;
  while (actions.length < turns && actions.at(-1)?.kind !== 'answer') {
    const isRight = random.next() < warmUp.actionAccuracy;
    actions.push(isRight ? reference[next++]! : randomAction(random, corpus, question));
  }
  return actions;
}

/** A search for each relation, by name and relation, and the answer. */
export function referenceActions(question: Question, corpus: Corpus): SearchAction[] {
  const names = namesAlong(question, corpus);
  const searches = question.chain.map(({ word }, hop): SearchAction => ({
    kind: 'search',
    query: `${names[hop]!} ${word}`,
  }));
  return [...searches, { kind: 'answer', text: names.at(-1)! }];
}

/** A search for any relation of anything; now and then any answer of the right type. */
function randomAction(random: RandomStream, corpus: Corpus, question: Question): SearchAction {
  if (random.int(4) === 0)
    return { kind: 'answer', text: random.pick(corpus.valuesOf(question.chain.at(-1)!.to)) };
  const { from, word } = random.pick(relations);
  return { kind: 'search', query: `${random.pick(corpus.names[from])} ${word}` };
}

export function* searchSimulatorCorpus(
  form: SearchForm,
  { maxHops, baseHops, warmUp, seed, entities }: SearchSettings,
  rows: number,
  random: RandomStream,
): Generator<CorpusRow> {
  const corpus = createCorpus(seed, entities);
  for (let row = 0; row < rows; row++) {
    const [from, to] = random.next() < 0.3 ? [1, maxHops] : baseHops;
    const question = drawQuestion(random, corpus, { hops: from + random.int(to - from + 1) });
    const varied = varyQuestion(random, question, corpus, { maxHops, easyTail: warmUp.easyTail });
    yield {
      prompt: form.simulatorPrompt(randomHistory(questionKinds, maxHops, random), questionSpec(question)),
      completion: questionSpec(varied),
    };
  }
}
