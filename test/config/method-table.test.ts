import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import type { PresetName } from '../../src/config/presets.ts';
import { presets } from '../../src/config/presets.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';

interface Row {
  field: string;
  printed: string;
  released: string;
  paper: string;
  origin: string;
  tuned: string;
}

/** The rows of docs/method.md under `<!-- preset fields -->`. A cell may hold `\|`. */
async function readRows(): Promise<Row[]> {
  const doc = await readFile(new URL('../../docs/method.md', import.meta.url), 'utf8');
  const [table = ''] = doc.split('<!-- preset fields -->\n\n')[1]?.split('\n\n') ?? [];
  return table
    .split('\n')
    .slice(2)
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .map(([, field = '', printed = '', released = '', paper = '', origin = '', tuned = '']) => ({
      field: field.replaceAll('`', ''),
      printed,
      released,
      paper,
      origin,
      tuned,
    }));
}

const absent = '–';
const valueOf = (cell: string): unknown =>
  cell === absent ? undefined : (JSON.parse(cell.replaceAll('`', '')) as unknown);

function at(settings: unknown, path: string): unknown {
  let node = settings;
  for (const name of path.split('.')) node = (node as Record<string, unknown> | undefined)?.[name];
  return node;
}

/** Paths of the values below an object; lists are values. */
function* leaves(node: unknown, path: string): Generator<string> {
  if (typeof node !== 'object' || node === null || Array.isArray(node)) {
    yield path;
    return;
  }
  for (const [key, value] of Object.entries(node)) yield* leaves(value, path === '' ? key : `${path}.${key}`);
}

const rows = await readRows();
const has = (path: string): boolean =>
  rows.some(({ field }) => path === field || path.startsWith(`${field}.`));

/** What a file of the preset becomes that says nothing of the method. */
function resolved(preset: PresetName): Record<string, unknown> {
  const silent = { 'agent.training': undefined, history: undefined, arm: { type: 'genenv', preset } };
  return parseExperiment(withFields(exampleFile, silent));
}

describe.each(['paper', 'tuned'] as const)('the table of docs/method.md on the preset %s', (preset) => {
  it('has a row for each of its fields', () => {
    expect(rows.length).toBeGreaterThan(50);
    expect([...leaves(presets[preset], '')].filter((path) => !has(path))).toEqual([]);
  });

  it('has the value of a file that leaves the field out', () => {
    const experiment = resolved(preset);
    for (const row of rows) expect(valueOf(row[preset]), row.field).toEqual(at(experiment, row.field));
  });

  it('has a row for every setting of an update and of a pool, set or not', () => {
    const { difficulty, filter, pools, guards, history, environment, agent } = resolved(preset) as Record<
      string,
      Record<string, unknown>
    >;
    const method = {
      ...{ difficulty, filter, pools, guards, history },
      environment: { training: environment!.training, initialShare: environment!.initialShare },
      agent: { training: agent!.training },
    };
    // How much fits on a device changes no update; a constant schedule has no number of steps.
    const technical = /\.(tokensPerMicroBatch|scheduleSteps)$/;
    expect([...leaves(method, '')].filter((path) => !has(path) && !technical.test(path))).toEqual([]);
  });
});

describe('the column "which is"', () => {
  it('says printed, released, ours or absent, and the column that it names is not empty', () => {
    const isEmpty = (cell: string): boolean => [absent, 'no such guard', 'no'].includes(cell);
    for (const { field, printed, released, origin } of rows) {
      expect(origin, field).toMatch(/^(printed|released|ours|absent)\b/);
      if (origin.startsWith('released')) expect(released, field).not.toBe(absent);
      // Who leaves the release for a value of ours says why.
      if (origin.startsWith('ours') && !isEmpty(released)) expect(origin, field).toMatch(/^ours: \w/);
      if (origin.startsWith('absent')) expect([printed, released].every(isEmpty), field).toBe(true);
      if (!origin.startsWith('printed')) continue;
      // The paper prints what it has; what it does not mention, it has not.
      const isOff = [absent, '`null`', '`false`'].includes(rows.find((row) => row.field === field)!.paper);
      if (!isOff) expect(printed, field).not.toBe(absent);
    }
  });
});
