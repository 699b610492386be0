import { historyPrompt } from '../history-digits.ts';
import type { HistoryDigits } from '../history-digits.ts';
import { framePrompt } from '../json-tasks/prompts.ts';
import type { Format } from '../json-tasks/prompts.ts';
import { frameObservation } from '../turn-actions.ts';
import type { Corpus, Fact } from './corpus.ts';
import { MAX_QUERY_LENGTH } from './passage-index.ts';
import { entityTypes } from './relations.ts';
import type { EntityType, Relation } from './relations.ts';
import type { Question } from './task.ts';

export type SearchAction = { kind: 'search'; query: string } | { kind: 'answer'; text: string };

/** How the agent and the simulator read and write: in words, or the same in few characters. */
export interface SearchForm {
  agentPrompt(question: Question, corpus: Corpus): string;
  /** The action in an answer: nothing before, and nothing but space after. */
  parseAction(text: string): SearchAction | undefined;
  printAction(action: SearchAction): string;
  /** What the agent reads after an action, up to where it writes again; undefined = it was none. */
  observation(results: readonly Fact[] | undefined): string;
  simulatorPrompt(history: HistoryDigits, seedTask: string): string;
}

/** The kinds of questions: by what they start from. */
export const questionKinds = entityTypes.map(({ code }) => code);

const MAX_ANSWER_LENGTH = 80;

const startName = ({ start }: Question, corpus: Corpus): string => corpus.names[start.type][start.number]!;

/**
 * For models from scratch: the question `kelu.author.home=`, the query `?kelu author` with its results `kelu
 * author tamo;`, the answer `=aldo`. `-` is no result, `!` no action.
 */
export const codesForm: SearchForm = {
  agentPrompt: (question, corpus) =>
    `${[startName(question, corpus), ...question.chain.map(({ word }) => word)].join('.')}=`,
  parseAction: (text) => {
    if (text.length > MAX_QUERY_LENGTH) return undefined;
    const [, mark, content = ''] = /^([?=])([a-z0-9][a-z0-9 ]*)$/.exec(text.trimEnd()) ?? [];
    if (mark === '?') return { kind: 'search', query: content };
    return mark === '=' ? { kind: 'answer', text: content } : undefined;
  },
  printAction: (action) => (action.kind === 'search' ? `?${action.query}` : `=${action.text}`),
  observation: (results) => {
    if (results === undefined) return '!;';
    if (results.length === 0) return '-;';
    return results.map(({ subject, relation, object }) => `${subject} ${relation.word} ${object};`).join('');
  },
  simulatorPrompt: (history, seedTask) => historyPrompt(history, seedTask, questionKinds),
};

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const nouns = new Map<EntityType, string>(entityTypes.map(({ code, noun }) => [code, noun]));

/** The last relation first: "the home of the author of the novel Kelu". */
const questionPhrase = (question: Question, corpus: Corpus): string =>
  question.chain.reduce(
    (phrase, { word }: Relation) => `the ${word} of ${phrase}`,
    `the ${nouns.get(question.start.type)!} ${capitalized(startName(question, corpus))}`,
  );

const rules =
  'Answer the question by searching. Write one line: "search: words to look for", or "answer: name" once you know it.';

/** For models that know English. */
export const createWordsForm = (format: Format): SearchForm => ({
  agentPrompt: (question, corpus) =>
    framePrompt(format, rules, `What is ${questionPhrase(question, corpus)}?`),
  parseAction: (text) => {
    if (text.length > MAX_TEXT_LENGTH) return undefined;
    const [, verb, content = ''] = /^(search|answer): (\S.*)$/.exec(text.trimEnd()) ?? [];
    if (verb === undefined) return undefined;
    if (verb === 'search') return { kind: 'search', query: content };
    return content.length > MAX_ANSWER_LENGTH ? undefined : { kind: 'answer', text: content };
  },
  printAction: (action) =>
    action.kind === 'search' ? `search: ${action.query}` : `answer: ${capitalized(action.text)}`,
  observation: (results) => {
    const text = resultsText(results);
    return frameObservation(format, text);
  },
  simulatorPrompt: (history, seedTask) => {
    const digits = historyPrompt(history, '', questionKinds).slice(0, -'|='.length);
    return framePrompt(format, 'Write one chain of relations.', `Agent: ${digits}\nVary: ${seedTask}`);
  },
});

const MAX_TEXT_LENGTH = 'search: '.length + MAX_QUERY_LENGTH;

function resultsText(results: readonly Fact[] | undefined): string {
  if (results === undefined) return 'That was neither "search: ..." nor "answer: ...".';
  if (results.length === 0) return 'Nothing was found.';
  return results
    .map(
      ({ subject, relation, object }, index) =>
        `${index + 1}. The ${relation.word} of ${capitalized(subject)} is ${capitalized(object)}.`,
    )
    .join('\n');
}

/** Characters of all texts of the form in words but control marks, for tokenizers. */
export const wordsCharacters = [
  ...new Set('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 \n_-=,.:\'"<|>?'),
];
