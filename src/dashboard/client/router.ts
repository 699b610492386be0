import { useEffect, useState } from 'preact/hooks';

/** A place in the dashboard: `#/runs/laptop/epochs/7?kept=kept`. */
export interface Place {
  parts: string[];
  query: URLSearchParams;
}

/** A part of an address as text; one that is not encoded is taken as it stands. */
const decodePart = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const currentPlace = (): Place => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path
      .split('/')
      .filter((part) => part !== '')
      .map(decodePart),
    query: new URLSearchParams(query),
  };
};

/** The address of a place, for links. Values that are empty are left out. */
export function linkTo(parts: readonly (string | number)[], query: Record<string, string> = {}): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}${search === '' ? '' : `?${search}`}`;
}

export const go = (parts: readonly (string | number)[], query: Record<string, string> = {}): void => {
  location.hash = linkTo(parts, query);
};

/** Replaces the query of the current place, without a step in the browser's history. */
export function replaceQuery(query: Record<string, string>): void {
  history.replaceState(history.state, '', linkTo(currentPlace().parts, query));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace);
  useEffect(() => {
    const follow = () => setPlace(currentPlace());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}
