import { boundedFetch } from '../../async/bounded-fetch.ts';
import { withoutSentKeys } from '../../async/sent-keys.ts';
import { cutText } from '../../formats/plain-text.ts';
import { InvalidConfig } from '../../validation/invalid-config.ts';

/**
 * A search endpoint: a URL with `{query}` is fetched; any other gets a POST of `{"q": query}`, as for
 * serper.dev.
 */
export interface SearchEndpoint {
  url: string;
  /** Sent as `X-API-KEY`. */
  key: string | undefined;
}

export interface SearchHit {
  title: string;
  text: string;
}

const TIMEOUT_MS = 30_000;
const MAX_QUERY_LENGTH = 1000;
/** Results that are read of a list, far more than are shown: who answers chooses how long it is. */
const MAX_RESULTS = 100;
/** Statuses that no other query and no retry changes. */
const refusedForever: ReadonlySet<number> = new Set([401, 403, 404, 405]);
/** Statuses that may be this query's fault. */
const queryRefused: ReadonlySet<number> = new Set([400, 413, 414, 422]);

/**
 * Results in the endpoint's order; none if it refuses the query (400, 413, 414, 422).
 * @throws InvalidConfig if it refuses access (401, 403, 404, 405), naming it; Error if a retry may help
 * (unreachable, another status, no JSON)
 */
export async function search(
  { url, key }: SearchEndpoint,
  query: string,
  signal: AbortSignal,
): Promise<SearchHit[]> {
  // Half a surrogate pair, which a model can write, cannot be URL-encoded.
  const text = cutText(query, MAX_QUERY_LENGTH);
  if (leavesItsPlace(url, text)) return [];
  const headers = key === undefined ? {} : { 'X-API-KEY': key };
  const signalOrTimeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = url.includes('{query}')
    ? await boundedFetch(url.replaceAll('{query}', encodeURIComponent(text)), {
        headers,
        signal: signalOrTimeout,
      })
    : await boundedFetch(url, {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify({ q: text }),
        signal: signalOrTimeout,
      });
  const { status } = response;
  if (queryRefused.has(status)) return [];
  if (!response.ok) {
    // The query string may contain a key.
    const body = (await response.text()).slice(0, 200);
    const message = `search.url: ${url.split('?')[0]} answered ${status}: ${body}`;
    throw refusedForever.has(status) ? new InvalidConfig(message) : new Error(message);
  }
  return searchHits(await response.json());
}

/**
 * Whether a query in the path of a URL would lead to an address that nobody gave: one of dots alone, or one that
 * climbs for a server that decodes slashes. Such a query finds nothing.
 */
const leavesItsPlace = (url: string, query: string): boolean =>
  new URL(url).pathname.includes('%7Bquery%7D') && /(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/.test(query);

/**
 * Results in an answer of any usual form: a list, or one under `organic` (serper.dev), `results`, `items`,
 * `data` or `documents`; each a text or an object that holds one. A key that was sent is taken out: models read
 * them.
 */
export function searchHits(body: unknown): SearchHit[] {
  const box = fieldsOf(fieldsOf(body).answerBox);
  const lists = [
    body,
    ...['organic', 'results', 'items', 'data', 'documents'].map((name) => fieldsOf(body)[name]),
  ];
  const results = ((lists.find((list) => Array.isArray(list)) ?? []) as unknown[]).slice(0, MAX_RESULTS);
  // Some endpoints answer with a batch of one query.
  const flat = results.flatMap((result): unknown[] =>
    Array.isArray(result) ? result.slice(0, MAX_RESULTS) : [result],
  );
  const all = [box, ...flat].map((result): SearchHit => {
    if (typeof result === 'string') return { title: '', text: result.trim() };
    const fields = { ...fieldsOf(fieldsOf(result).document), ...fieldsOf(result) };
    return {
      title: textOf(fields, ['title', 'name']),
      text: textOf(fields, ['answer', 'snippet', 'text', 'content', 'contents', 'description', 'body']),
    };
  });
  return all
    .map(({ title, text }) => ({ title: storableText(title), text: storableText(text) }))
    .filter(({ title, text }) => title !== '' || text !== '');
}

/** A server may cut a snippet inside a surrogate pair. */
const storableText = (text: string): string => withoutSentKeys(text).toWellFormed();

/** Results as ToolRL shows them: numbered, a title and a snippet each. */
export function formatHits(hits: readonly SearchHit[]): string {
  return hits.map(({ title, text }, index) => `${index + 1}. ${title}\n- Snippet: ${text}`).join('\n');
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

function textOf(fields: Readonly<Record<string, unknown>>, names: readonly string[]): string {
  const text = names.map((name) => fields[name]).find((value) => typeof value === 'string');
  return typeof text === 'string' ? text.trim() : '';
}
