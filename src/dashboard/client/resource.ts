import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { BoundedMap } from '../../async/bounded-map.ts';
import type { ChangeEvent } from '../api.ts';

/** What a page asks of the server, as far as it has come. */
export interface Resource<T> {
  /** Of other filters (what stands behind `?`) until an answer for these has come. */
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
const MAX_VALUES = 20;
const lastValues = new BoundedMap<string, unknown>(MAX_VALUES);

const firstReading = (path: string): Reading => ({
  path,
  value: lastValues.get(path) ?? null,
  problem: null,
  isMissing: false,
});

/** Reads JSON of the server, keeps what was read last while it reads again, and asks again if it failed. */
export function useResource<T>(path: string): Resource<T> {
  const [reading, setReading] = useState(() => firstReading(path));
  const request = useRef<{ path: string; isOutdated: boolean } | null>(null);
  const reload = useCallback(() => {
    if (request.current?.path === path) {
      // One request at a time: the next one follows it.
      request.current.isOutdated = true;
      return;
    }
    const own = { path, isOutdated: false };
    request.current = own;
    const settle = (changed: Partial<Reading>) => {
      if (request.current !== own) return;
      request.current = null;
      if ('value' in changed) lastValues.set(path, changed.value);
      setReading({ ...firstReading(path), ...changed });
      if (own.isOutdated) reload();
    };
    readJson(path).then(
      (value) => settle({ value }),
      (error: unknown) => settle({ problem: (error as Error).message, isMissing: error instanceof Missing }),
    );
  }, [path]);
  useEffect(() => {
    reload();
    reloads.add(reload);
    return () => void reloads.delete(reload);
  }, [reload]);
  const { value, problem, isMissing } = reading.path === path ? reading : firstReading(path);
  useServerEvents((event) => {
    if (event === 'tick' && problem !== null && !isMissing) reload();
  });
  const shown = value ?? (withoutQuery(reading.path) === withoutQuery(path) ? reading.value : null);
  return { value: isMissing ? null : (shown as T | null), problem, isMissing, reload };
}

const withoutQuery = (path: string): string => path.split('?')[0]!;

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

type Listener = (event: ChangeEvent | 'tick') => void;
const listeners = new Set<Listener>();
/** Called where changes may have been missed. */
const reloads = new Set<() => void>();
let source: EventSource | undefined;
const RECONNECT_MS = 3_000;

/** Calls back when runs have changed, and about once a second. One connection serves the whole page. */
export function useServerEvents(listener: Listener): void {
  const current = useRef(listener);
  current.current = listener;
  useEffect(() => {
    const own: Listener = (event) => current.current(event);
    listeners.add(own);
    connect();
    return () => void listeners.delete(own);
  }, []);
}

/** A browser has few connections to a server for all its tabs: one that nobody sees takes none. */
function connect(): void {
  if (document.hidden || source !== undefined) return;
  const opened = new EventSource('/api/events');
  source = opened;
  const tell = (event: Parameters<Listener>[0]) => {
    for (const listener of listeners) listener(event);
  };
  opened.addEventListener('change', ({ data }) => tell(JSON.parse(data as string) as ChangeEvent));
  opened.addEventListener('tick', () => tell('tick'));
  opened.addEventListener('error', () => {
    reloadAll();
    // The browser connects again by itself, unless the server has refused it.
    if (opened.readyState !== EventSource.CLOSED) return;
    disconnect();
    setTimeout(connect, RECONNECT_MS);
  });
}

function disconnect(): void {
  source?.close();
  source = undefined;
}

function reloadAll(): void {
  for (const reload of reloads) reload();
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) disconnect();
  else {
    connect();
    reloadAll();
  }
});
