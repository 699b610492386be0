import { DatabaseSync } from 'node:sqlite';
import type { Corpus, Fact } from './corpus.ts';

/** Most words of a query that count, and most characters of a word: a model's query may be anything. */
const MAX_WORDS = 8;
const MAX_WORD_LENGTH = 32;
/** Characters of a query that are read at all. */
export const MAX_QUERY_LENGTH = 200;

export interface PassageIndex {
  /** The facts whose passages fit the query best, best first; none if it has no word of the corpus. */
  search(query: string, limit: number): readonly Fact[];
}

/**
 * A full-text index of the corpus, one passage for each fact, in SQLite's FTS5 and in memory. Passages are
 * ranked by BM25, a match of what a fact is about counting four times one of the rest; equal ranks are in the order
 * of the corpus, so results follow from corpus and query alone.
 */
export function createPassageIndex({ facts }: Corpus): PassageIndex {
  const database = new DatabaseSync(':memory:');
  database.exec("CREATE VIRTUAL TABLE passages USING fts5(title, text, tokenize = 'ascii')");
  const insert = database.prepare('INSERT INTO passages (rowid, title, text) VALUES (?, ?, ?)');
  database.exec('BEGIN');
  for (const [row, { subject, relation, object }] of facts.entries())
    insert.run(row, subject, `${relation.word} ${object}`);
  database.exec('COMMIT');
  const select = database.prepare(
    'SELECT rowid AS row FROM passages WHERE passages MATCH ? ORDER BY round(bm25(passages, 4.0, 1.0), 6), rowid LIMIT ?',
  );
  return {
    search: (query, limit) => {
      const expression = matchExpression(query);
      if (expression === '') return [];
      return select.all(expression, limit).map(({ row }) => facts[Number(row)]!);
    },
  };
}

/**
 * A model's query as an FTS5 expression: its words, each a quoted string, any of which may match. Only ASCII
 * letters and digits are kept, so no operator, column filter, wildcard or quote of the query has a meaning.
 */
export function matchExpression(query: string): string {
  const words =
    query
      .slice(0, MAX_QUERY_LENGTH)
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const distinct = [...new Set(words.map((word) => word.slice(0, MAX_WORD_LENGTH)))].slice(0, MAX_WORDS);
  return distinct.map((word) => `"${word}"`).join(' OR ');
}
