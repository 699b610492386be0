import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { repository } from '../../infra/setup/locations.mjs';
import { classes } from './classes/index.ts';
import { driveAll, plan } from './drive.ts';
import type { Outcome } from './drive.ts';
import { writeDocs } from './figures.ts';
import { markdown, summarise, withEarlier } from './table.ts';
import type { Results } from './table.ts';

/**
 * `npm run test:chaos -- [--runs N] [--seed S] [--first K] [--class NAME]… [--long] [--jobs N]
 * [--outcomes FILE] [--add] [--no-write]`:
 * disturbs N runs with faults that follow from the seed. `--first` begins at the K-th, `--class` takes those
 * whose name or row contains NAME; `--outcomes` keeps the outcome of each run in a file, and runs none again that
 * the file has; `--add` leaves the other classes of the table as they are.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    seed: { type: 'string', default: '1' },
    first: { type: 'string', default: '0' },
    class: { type: 'string', multiple: true, default: [''] },
    long: { type: 'boolean', default: false },
    jobs: { type: 'string', default: '1' },
    outcomes: { type: 'string' },
    add: { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
  },
});

function wholeNumber(flag: 'runs' | 'seed' | 'first' | 'jobs', least: number): number | undefined {
  const value = values[flag];
  if (value === undefined) return undefined;
  if (!/^\d{1,9}$/.test(value) || Number(value) < least)
    fail(`--${flag}: got ${JSON.stringify(value)}; expected a whole number from ${least}`);
  return Number(value);
}
function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

const [seed, first, jobs] = [wholeNumber('seed', 0)!, wholeNumber('first', 0)!, wholeNumber('jobs', 1)!];
const chosen = classes.filter(
  ({ name, row, long }) =>
    (values.long || long !== true) && values.class.some((words) => `${name} ${row}`.includes(words)),
);
if (chosen.length === 0)
  fail(
    `--class: got ${JSON.stringify(values.class)}; allowed: ${classes.map(({ name, long }) => `${name}${long ? ' (with --long)' : ''}`).join(', ')}`,
  );
/** Of an earlier process with the same arguments. */
const earlier = values.outcomes === undefined ? [] : readOutcomes(values.outcomes);
const planned = plan(chosen, seed, first, wholeNumber('runs', 1) ?? chosen.length).filter(
  ({ index, fault }) => !earlier.some((outcome) => outcome.index === index && outcome.name === fault.name),
);

function readOutcomes(file: string): Outcome[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Outcome);
}

const repeat = ({ index }: Outcome): string =>
  [
    'npm run test:chaos --',
    `--seed ${seed} --first ${index} --runs 1`,
    ...values.class.flatMap((words) => (words === '' ? [] : [`--class ${JSON.stringify(words)}`])),
    ...(values.long ? ['--long'] : []),
  ].join(' ');

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

let done = 0;
const tell = (outcome: Outcome): void => {
  done += 1;
  if (values.outcomes !== undefined) appendFileSync(values.outcomes, `${JSON.stringify(outcome)}\n`);
  const result = outcome.recovered ? 'recovered' : 'FAILED';
  const state = outcome.skipped === undefined ? result : `skipped: ${outcome.skipped}`;
  const { requests, steps, activities } = outcome.redone;
  console.log(
    `${String(done).padStart(4)}/${planned.length}  ${outcome.name}: ${state}${outcome.seconds === null ? '' : ` in ${outcome.seconds.toFixed(1)} s`}, redone ${requests}/${steps}/${activities}`,
  );
  for (const problem of outcome.problems) console.log(`      ${problem}`);
  if (!outcome.recovered && outcome.skipped === undefined) console.log(`      again: ${repeat(outcome)}`);
};
const outcomes = await driveAll(planned, seed, { jobs, signal: interrupted.signal, tell });
if (interrupted.signal.aborted) process.exit(130);

const results = summarise([...earlier, ...outcomes], seed);
console.log(`\n${markdown(results)}`);
if (!values['no-write']) {
  const file = join(repository, 'bench', 'chaos.json');
  const written = values.add
    ? withEarlier(results, JSON.parse(readFileSync(file, 'utf8')) as Results)
    : results;
  writeFileSync(file, `${JSON.stringify(written, null, 2)}\n`);
  writeDocs(written);
  console.log(`\nwritten to ${file} and docs/durability.md`);
}
process.exitCode = results.recovered === results.runs ? 0 : 1;
