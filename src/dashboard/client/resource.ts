import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ChangeEvent } from '../api.ts';

/** What a page asks of the server, as far as it has come. */
export interface Resource<T> {
  value: T | null;
  /** Why it could not be read; null if it could. */
  problem: string | null;
  reload: () => void;
}

/** Reads JSON of the server, and keeps what was read last while it reads again. */
export function useResource<T>(path: string): Resource<T> {
  const [read, setRead] = useState<{ path: string; value: T | null; problem: string | null }>({
    path,
    value: null,
    problem: null,
  });
  const questions = useRef(0);
  const reload = useCallback(() => {
    const question = ++questions.current;
    readJson<T>(path).then(
      (value) => question === questions.current && setRead({ path, value, problem: null }),
      (error: unknown) =>
        question === questions.current &&
        setRead((before) => ({
          path,
          value: before.path === path ? before.value : null,
          problem: (error as Error).message,
        })),
    );
  }, [path]);
  useEffect(reload, [reload]);
  return read.path === path ? { ...read, reload } : { value: null, problem: null, reload };
}

async function readJson<T>(path: string): Promise<T> {
  const response = await fetch(path).catch(() => {
    throw new Error('The dashboard’s server does not answer. It is asked again.');
  });
  const body = (await response.json()) as T & { message?: string };
  if (!response.ok) throw new Error(body.message ?? `The server answered ${response.status}.`);
  return body;
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
