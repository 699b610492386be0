import { csvRows, isWhole } from './csv.ts';
import { route } from './sandbox.ts';
import type { Flight } from './sandbox.ts';

/**
 * The flights of the official table, by origin and destination. It has 3.8 million rows: they stay bytes, and a row is read when its
 * route is asked for.
 */
export function flightTable(bytes: Buffer): (origin: string, destination: string) => readonly Flight[] {
  const header = line(bytes, 0);
  const names = header.text.split(',');
  const [origin, destination] = [names.indexOf('OriginCityName'), names.indexOf('DestCityName')];
  const starts = new Map<string, number[]>();
  for (let start = header.next; start < bytes.length; ) {
    const { text, next } = line(bytes, start);
    const cells = text.split(',');
    const key = route(cells[origin] ?? '', cells[destination] ?? '');
    const known = starts.get(key);
    if (known === undefined) starts.set(key, [start]);
    else known.push(start);
    start = next;
  }
  return (from, to) => (starts.get(route(from, to)) ?? []).flatMap((start) => flightOf(header.text, line(bytes, start).text));
}

function line(bytes: Buffer, start: number): { text: string; next: number } {
  const newline = bytes.indexOf(10, start);
  const end = newline < 0 ? bytes.length : newline;
  return { text: bytes.toString('utf8', start, end).trimEnd(), next: end + 1 };
}

function flightOf(header: string, text: string): Flight[] {
  const row = csvRows(`${header}\n${text}`)[0];
  if (row === undefined || !isWhole(row)) return [];
  const columns = ['Flight Number', 'Price', 'DepTime', 'ArrTime', 'ActualElapsedTime', 'FlightDate', 'OriginCityName', 'DestCityName', 'Distance'];
  const flight = Object.fromEntries(columns.map((name) => [name, name === 'Price' || name === 'Distance' ? Number(row[name]) : row[name]]));
  return [flight as unknown as Flight];
}
