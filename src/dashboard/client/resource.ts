import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ChangeEvent } from '../api.ts';

/** What a page asks of the server, as far as it has come. */
export interface Resource<T> {
  value: T | null;
  /** Why it could not be read; null if it could. */
  problem: string | null;
  /** Whether the server says that there is no such thing. */
  isMissing: boolean;
  reload: () => void;
}

interface Reading {
  path: string;
  value: unknown;
  problem: string | null;
  isMissing: boolean;
}

/** What was read last, so that a page that one comes back to is there at once, and the browser finds its place. */
const lastValues = new Map<string, unknown>();
const MAX_VALUES = 20;

function keep(path: string, value: unknown): void {
  lastValues.delete(path);
  lastValues.set(path, value);
  for (const [oldest] of lastValues) {
    if (lastValues.size <= MAX_VALUES) break;
    lastValues.delete(oldest);
  }
}

const firstReading = (path: string): Reading => ({
  path,
  value: lastValues.get(path) ?? null,
  problem: null,
  isMissing: false,
});

/** Reads JSON of the server, and keeps what was read last while it reads again. */
export function useResource<T>(path: string): Resource<T> {
  const [read, setRead] = useState(() => firstReading(path));
  const questions = useRef(0);
  const reload = useCallback(() => {
    const question = ++questions.current;
    readJson(path).then(
      (value) => {
        keep(path, value);
        if (question === questions.current) setRead({ path, value, problem: null, isMissing: false });
      },
      (error: unknown) =>
        question === questions.current &&
        setRead((before) => ({
          path,
          value: before.path === path ? before.value : null,
          problem: (error as Error).message,
          isMissing: error instanceof Missing,
        })),
    );
  }, [path]);
  useEffect(reload, [reload]);
  const { value, problem, isMissing } = read.path === path ? read : firstReading(path);
  return { value: value as T | null, problem, isMissing, reload };
}

class Missing extends Error {}

async function readJson(path: string): Promise<unknown> {
  const response = await fetch(path).catch(() => {
    throw new Error('The dashboard’s server does not answer. It is asked again.');
  });
  const body = (await response.json()) as { message?: string };
  if (response.ok) return body;
  const message = body.message ?? `The server answered ${response.status}.`;
  throw response.status === 404 ? new Missing(message) : new Error(message);
}

type Listener = (event: { runs: string[] } | 'tick') => void;
const listeners = new Set<Listener>();
let source: EventSource | undefined;

/** Calls back when runs have changed, and about once a second. One connection serves the whole page. */
export function useServerEvents(listener: Listener): void {
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => {
    const own: Listener = (event) => current.current(event);
    listeners.add(own);
    source ??= openSource();
    return () => void listeners.delete(own);
  }, []);
}

function openSource(): EventSource {
  const opened = new EventSource('/api/events');
  const tell = (event: Parameters<Listener>[0]) => {
    for (const listener of listeners) listener(event);
  };
  opened.addEventListener('change', ({ data }) => tell(JSON.parse(data as string) as ChangeEvent));
  opened.addEventListener('tick', () => tell('tick'));
  return opened;
}
