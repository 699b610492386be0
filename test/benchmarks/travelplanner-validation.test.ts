import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csvRows } from '../../src/benchmarks/travelplanner/data/csv.ts';
import { databaseFiles, flightTable } from '../../src/benchmarks/travelplanner/data/database.ts';
import { tablesFrom } from '../../src/benchmarks/travelplanner/data/train-sandbox.ts';
import type { Reference } from '../../src/benchmarks/travelplanner/data/train-sandbox.ts';
import { openValidation } from '../../src/benchmarks/travelplanner/data/validation.ts';
import { pythonText } from '../../src/benchmarks/travelplanner/prompts/data-text.ts';
import { travelPlanner } from '../../src/benchmarks/travelplanner/travelplanner.ts';
import {
  contentOf,
  goldPlan,
  hostWith,
  scripted,
  settings,
  shipped,
  train,
} from './travelplanner-support.ts';

let downloads: string;
const suite = travelPlanner.suites.find(({ name }) => name === 'travelplanner_validation_soleplanning')!;
const file = (...parts: string[]): string => join(downloads, 'travelplanner', ...parts);

const csv = (rows: readonly object[]): string =>
  [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row) as unknown[])]
    .map((cells) => cells.map(cell).join(','))
    .join('\n');
const cell = (value: unknown): string =>
  /[",\n\r]/u.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value);

function python(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  return `{${Object.entries(value as object)
    .map(([key, field]) => `${python(key)}: ${python(field)}`)
    .join(', ')}}`;
}

/**
 * The train split four times over, in the form of the official validation split: as many queries and
 * constraints as that has.
 */
const queries = Array.from({ length: 180 }, (_, index) => {
  const { query } = train.tasks[index % 45]!;
  return {
    ...query,
    date: python(query.date),
    local_constraint: python(query.local_constraint),
    reference_information: `[{'Description': 'query ${index + 1}'}]`,
  };
});

beforeAll(async () => {
  downloads = await mkdtemp(join(tmpdir(), 'travelplanner-'));
  const references = (await readFile(join(shipped, 'travelplanner/train_ref_info.jsonl'), 'utf8'))
    .trim()
    .split('\n');
  const tables = tablesFrom(references.map((line) => JSON.parse(line) as Reference));
  const written = { ...tables, cities: null };
  for (const [name, path] of Object.entries(databaseFiles)) {
    await mkdir(dirname(file('database', path)), { recursive: true });
    const rows = written[name as keyof typeof written];
    await writeFile(
      file('database', path),
      rows === null
        ? train.sandbox.cities.map((city) => `${city}\t${train.sandbox.state(city) ?? 'None'}`).join('\n')
        : csv(rows.map((row, index) => ({ '': index, ...row }))),
    );
  }
});

afterAll(() => rm(downloads, { recursive: true, force: true }));

describe('the validation split', () => {
  it('says what to download and where to put it', async () => {
    const opened = await suite.open(hostWith('/nowhere'), settings('prompt'));
    expect(opened).toEqual({
      missing: expect.stringMatching(
        /osunlp\/TravelPlanner.*\/nowhere\/travelplanner\/validation\.csv.*OSU-NLP-Group\/TravelPlanner.*\/nowhere\/travelplanner\/database/u,
      ) as string,
    });
    const half = await suite.open(hostWith(downloads), settings('prompt'));
    expect(half).toEqual({
      missing: expect.stringContaining(`Not found: ${file('validation.csv')}.`) as string,
    });
    await writeFile(file('validation.csv'), csv(queries.slice(0, 100)));
    expect(await suite.open(hostWith(downloads), settings('prompt'))).toEqual({
      missing: expect.stringContaining('has 100 queries, and the validation split has 180') as string,
    });
  });

  it('is read once for all suites that have it open', async () => {
    await writeFile(file('validation.csv'), csv(queries));
    const suites = travelPlanner.suites.filter(({ name }) => name.startsWith('travelplanner_validation'));
    const opened = await Promise.all(
      suites.flatMap((each) => [
        each.open(hostWith(downloads), settings('prompt')),
        each.open(hostWith(downloads), settings('native')),
      ]),
    );
    const later = await suite.open(hostWith(downloads), settings('prompt'));
    const cases = new Set([...opened, later].map((each) => ('cases' in each ? each.cases : null)));
    expect([cases.size, [...cases][0]!.length]).toEqual([1, 180]);
  });

  it('is judged from the official files, with its own denominators', async () => {
    await writeFile(file('validation.csv'), csv(queries));
    const opened = await suite.open(hostWith(downloads), settings('prompt'));
    if ('missing' in opened) throw new Error(opened.missing);
    expect(opened.cases.map(({ id }) => id).slice(0, 2)).toEqual(['validation_1', 'validation_2']);
    expect(opened.gold(opened.cases[0]!)).toBeUndefined();
    const policy = scripted(['no plan']);
    await opened.attempt(opened.cases[6]!, policy);
    expect(contentOf(policy.questions[0]!)).toContain(
      "Given information: [{'Description': 'query 7'}]\nQuery: ",
    );
    const answered = opened.cases.map((item, index) => ({
      item,
      response: {
        answer: index < 60 ? '' : JSON.stringify(goldPlan((index % 45) + 1)),
        steps: 0,
        end: 'stop',
      },
    }));
    const verdicts = await opened.judge(answered, new AbortController().signal);
    const scores = opened.scores(
      verdicts.map((verdict, index) => ({ id: opened.cases[index]!.id, verdict })),
    );
    // Of the first 60, the last 15 are the 15 easy tasks again, each with its budget as its only hard
    // constraint.
    expect(
      Object.fromEntries(
        scores.map((score) => [
          score.name.replace('travelplanner_validation_', ''),
          [score.of, Number((score.value * score.of).toFixed(6))],
        ]),
      ),
    ).toEqual({
      delivery_soleplanning: [180, 120],
      commonsense_micro_soleplanning: [1440, 960],
      commonsense_macro_soleplanning: [180, 120],
      hard_micro_soleplanning: [420, 300],
      hard_macro_soleplanning: [180, 120],
      final_soleplanning: [180, 120],
      genenv_mean4_soleplanning: [4, Number((960 / 1440 + 120 / 180 + 300 / 420 + 120 / 180).toFixed(6))],
    });
  });

  it('names the query that it cannot read', async () => {
    await writeFile(
      file('validation.csv'),
      csv(queries.with(2, { ...queries[2]!, local_constraint: '__import__("os")' })),
    );
    await expect(openValidation(file())).rejects.toThrow(/query 3 cannot be read/u);
  });
});

describe('tables of the database', () => {
  it('are read as CSV: quotes, commas, line breaks, empty cells', () => {
    expect(csvRows('a,b\r\n"x, ""y""\nz",\n1,2')).toEqual([
      { a: 'x, "y"\nz', b: '' },
      { a: '1', b: '2' },
    ]);
    expect(csvRows('')).toEqual([]);
  });

  it('keep quotes, line breaks of either kind and blank cells within a record, and skip blank lines', () => {
    const text = [
      'name,"house ""rules""",city',
      '"two\r\nlines","No ""parties"", no pets",Rockford',
      '',
      '"","",""',
      'a "nick" name, spaced ,"one\nbreak"',
      '"short"',
      'long,b,c,dropped',
      '',
    ].join('\r\n');
    expect(csvRows(text)).toEqual([
      { name: 'two\r\nlines', 'house "rules"': 'No "parties", no pets', city: 'Rockford' },
      { name: '', 'house "rules"': '', city: '' },
      { name: 'a "nick" name', 'house "rules"': ' spaced ', city: 'one\nbreak' },
      { name: 'short', 'house "rules"': '', city: '' },
      { name: 'long', 'house "rules"': 'b', city: 'c' },
    ]);
    expect(csvRows('a,b\n1,2\r\n3,4')).toEqual([
      { a: '1', b: '2' },
      { a: '3', b: '4' },
    ]);
    expect(() => csvRows('a,b\n"not closed,2')).toThrow();
  });

  it('leave out rows with an absent value, as pandas does', () => {
    const header =
      'Flight Number,Price,DepTime,ArrTime,ActualElapsedTime,FlightDate,OriginCityName,DestCityName,Distance';
    const flights = flightTable(
      Buffer.from(
        `${header}\nF1,10,1:00,2:00,1 hours,2022-03-01,A,B,5.0\nF2,,1:00,2:00,1 hours,2022-03-01,A,B,5.0\nF3,30,1:00,2:00,1 hours,2022-03-02,A,B,5.0\nF4,1,1:00,2:00,1 hours,2022-03-02,B,A,5.0\n`,
      ),
    );
    expect(
      flights('A', 'B').map((flight) => [flight['Flight Number'], flight.Price, flight.Distance]),
    ).toEqual([
      ['F1', 10, 5],
      ['F3', 30, 5],
    ]);
    expect(flights('A', 'C')).toEqual([]);
  });
});

describe('the benchmark', () => {
  it('has a suite for each split and mode', () => {
    expect(travelPlanner.suites.map(({ name }) => name)).toEqual([
      'travelplanner_train_soleplanning',
      'travelplanner_train_tooluse',
      'travelplanner_validation_soleplanning',
      'travelplanner_validation_tooluse',
    ]);
  });
});
