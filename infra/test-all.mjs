// @ts-check
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { errorsFileVariable } from './errors-outside-tests.mjs';
import { pythonPath, repository } from './setup/locations.mjs';
import { countJunit, countTwice, countVitest, failedFiles, slowestVitest } from './test-counts.mjs';

/**
 * Runs suites, also after one has failed, and ends with one line for all of them: `N passed, N failed`.
 * Without arguments all but the `extras` run; `--with-long` and so on add those; names of suites run only these. A
 * suite whose engines cannot be installed in time is skipped, and a line says so.
 * `--again`: test files of vitest that have failed run once more at the end, alone on the machine, and what
 * passes only then is listed by name: a test that is too sensitive to load is seen, and stops no delivery.
 * The checks run beside vitest, which often waits for processes; what they print appears when they end.
 */
const reports = mkdtempSync(join(tmpdir(), 'genenv-tests-'));
const tool = (/** @type {string} */ path) => join(repository, 'node_modules', path);
const node = (/** @type {string} */ path, /** @type {string[]} */ ...args) => ({
  command: process.execPath,
  args: [tool(path), ...args],
});
/**
 * @param {string} project
 * @param {string} name Of the report.
 * @param {...string} words
 */
const vitest = (project, name, ...words) => ({
  ...node(
    'vitest/vitest.mjs',
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--reporter=${join(repository, 'infra/errors-outside-tests.mjs')}`,
    `--outputFile.json=${join(reports, name)}`,
    ...words,
  ),
  count: countVitest,
  project,
  errorsFile: join(reports, `${name}.errors`),
});

/**
 * @typedef {object} Suite
 * @property {string} command
 * @property {string[]} args
 * @property {string} [cwd]
 * @property {(report: string) => import('./test-counts.mjs').Counts} [count] Counts a report; a suite without
 * one is one test.
 * @property {string[]} [engines] What it needs that set-up does not bring.
 * @property {boolean} [runsWithAnyEngine] Whether it runs with one of its engines, and tests of the others are skipped.
 * @property {string} [project] Of vitest.
 * @property {string} [errorsFile] What gets the errors outside of all tests, by vitest.
 */
/** @type {Record<string, Suite>} */
const suites = {
  format: node('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'),
  lint: node('eslint/bin/eslint.js', '--max-warnings', '0', '.'),
  types: node('typescript/bin/tsc', '--build', '.', 'src/report/client', 'src/dashboard/client'),
  pytest: {
    command: pythonPath(),
    args: ['-m', 'pytest', `--junitxml=${join(reports, 'pytest')}`, '--durations=5'],
    cwd: join(repository, 'trainer'),
    count: countJunit,
  },
  vitest: vitest('quick', 'vitest'),
  long: vitest('long', 'long'),
  server: { ...vitest('server', 'server'), engines: ['temporal-server', 'postgresql'] },
  telemetry: { ...vitest('telemetry', 'telemetry'), engines: ['prometheus'] },
  launchers: { ...vitest('launchers', 'launchers'), engines: ['slurm', 'ray'], runsWithAnyEngine: true },
  vllm: { ...vitest('vllm', 'vllm'), engines: ['smollm2', 'vllm'] },
  // Without a network it says so, and passes.
  audit: { command: process.execPath, args: [join(repository, 'infra/supply-chain/audit.mjs')] },
};
/** Suites that run one after the other; the lanes run at the same time. */
const lanes = [
  ['vitest', 'long', 'server', 'telemetry', 'launchers', 'vllm'],
  ['format', 'lint', 'types', 'pytest', 'audit'],
];

const maxInstallMs = 15 * 60_000;

/** If more files than this have failed, the code is broken, and no second run is needed to know it. */
const maxFilesAgain = 12;

const words = process.argv.slice(2);
/** Suites that are chosen by an option alone. */
const extras = ['long', 'server', 'telemetry', 'launchers', 'vllm', 'audit'];
const options = ['--again', ...extras.map((name) => `--with-${name}`)];
const names = words.filter((word) => !options.includes(word));
const unknown = names.find((name) => !(name in suites));
if (unknown !== undefined) {
  console.error(
    `test-all: got ${JSON.stringify(unknown)}; allowed: ${[...Object.keys(suites), ...options].join(', ')}`,
  );
  process.exit(2);
}
const isChosen = (/** @type {string} */ name) =>
  names.length > 0 ? names.includes(name) : !extras.includes(name) || words.includes(`--with-${name}`);

/** @type {{ name: string, seconds: string, passed: number, failed: number }[]} */
const results = [];
/** @type {string[]} */
const skipped = [];
/** @type {{ name: string, seconds: number }[]} */
const slowest = [];
await Promise.all(
  lanes.map(async (lane, index) => {
    for (const name of lane.filter(isChosen)) await runSuite(name, index === 0);
  }),
);
/** @type {string[]} */
const flaky = [];
if (words.includes('--again')) for (const result of results) await runAgain(result);
rmSync(reports, { recursive: true, force: true });
if (slowest.length > 0) console.log('\nThe ten slowest tests:');
for (const { name, seconds } of slowest.sort((a, b) => b.seconds - a.seconds).slice(0, 10))
  console.log(`${seconds.toFixed(1).padStart(7)} s  ${name}`);
if (flaky.length > 0) console.log(`\nPassed only when run again, alone:\n${flaky.join('\n')}`);
const total = { passed: 0, failed: 0 };
for (const { passed, failed } of results) {
  total.passed += passed;
  total.failed += failed;
}
console.log(`\n${[...results.map(resultLine), ...skipped].join('\n')}`);
console.log(`${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/** @param {typeof results[number]} result */
function resultLine({ name, seconds, passed, failed }) {
  return `${name.padEnd(9)}${seconds.padStart(7)} s  ${passed} passed, ${failed} failed`;
}

/**
 * @param {string} name
 * @param {boolean} streams Whether its output is shown as it comes.
 */
async function runSuite(name, streams) {
  const suite = /** @type {Suite} */ (suites[name]);
  if (streams) console.log(`\n=== ${name}`);
  const missing = await installAll(suite.engines ?? [], streams);
  const isSkipped = suite.runsWithAnyEngine ? missing.length === suite.engines?.length : missing.length > 0;
  if (missing.length > 0)
    skipped.push(
      `${name.padEnd(9)}  ${isSkipped ? 'skipped' : 'skipped in part'}: ${missing.join(' and ')} could not be installed`,
    );
  if (isSkipped) return;
  const begun = performance.now();
  const { succeeded, output } = await run(suite, streams);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const result = { name, seconds, ...counts(name, suite, succeeded) };
  results.push(result);
  const line = resultLine(result);
  console.log(streams ? `=== ${line}` : `\n=== ${name}\n${output}=== ${line}`);
}

/**
 * Runs the failed files of a suite once more, one at a time, and counts what they say then.
 * @param {typeof results[number]} result
 */
async function runAgain(result) {
  const path = join(reports, result.name);
  const { project, errorsFile } = /** @type {Suite} */ (suites[result.name]);
  if (project === undefined || result.failed === 0 || !existsSync(path)) return;
  const first = readFileSync(path, 'utf8');
  const failed = failedFiles(first);
  if (failed.length === 0 || failed.length > maxFilesAgain) return;
  console.log(`\n=== ${result.name}, again: ${failed.length} files`);
  const again = vitest(project, `${result.name}-again`, '--maxWorkers=1', ...failed.map(({ file }) => file));
  const { succeeded } = await run(again, true);
  const second = join(reports, `${result.name}-again`);
  if (!existsSync(second)) return;
  const report = readFileSync(second, 'utf8');
  const counted = countTwice(first, report);
  const files = new Set(failed.map(({ file }) => file));
  const errors = errorsOutside(errorsFile).filter((file) => !files.has(file));
  counted.failed += errors.length + errorsOutside(again.errorsFile).length;
  if (!succeeded && counted.failed === 0) counted.failed = 1;
  Object.assign(result, counted);
  const stillFailed = new Set(failedFiles(report).map(({ file }) => file));
  for (const { file, tests } of failed)
    if (!stillFailed.has(file)) flaky.push(...(tests.length > 0 ? tests : [file]));
}

/**
 * Installs engines, one after the other, and gives those that could not be.
 * @param {string[]} engines
 * @param {boolean} streams
 */
async function installAll(engines, streams) {
  const missing = [];
  for (const engine of engines) {
    const args = [join(repository, 'infra/setup/install-engines.mjs'), engine];
    const { succeeded } = await run({ command: process.execPath, args }, streams, maxInstallMs);
    if (!succeeded) missing.push(engine);
  }
  return missing;
}

/**
 * @param {Suite} suite
 * @param {boolean} streams
 * @param {number} [timeout] In milliseconds; the process is ended then.
 * @returns {Promise<{ succeeded: boolean, output: string }>}
 */
function run({ command, args, cwd = repository, errorsFile }, streams, timeout) {
  return new Promise((resolve) => {
    const stdio = streams ? 'inherit' : 'pipe';
    const env = { ...process.env, ...(errorsFile && { [errorsFileVariable]: errorsFile }) };
    const child = spawn(command, args, { cwd, env, timeout, stdio: ['ignore', stdio, stdio] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (part) => (output += String(part)));
    child.on('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve({ succeeded: false, output });
    });
    child.on('close', (code) => resolve({ succeeded: code === 0, output }));
  });
}

/**
 * Counts what the report says; a suite that failed without a failed test, or without a report, is one
 * failure.
 * @param {string} name
 * @param {Suite} suite
 * @param {boolean} succeeded
 */
function counts(name, { count, errorsFile }, succeeded) {
  const path = join(reports, name);
  const report = count && existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  if (report !== undefined && count === countVitest) slowest.push(...slowestVitest(report));
  const counted = count && report !== undefined ? count(report) : { passed: succeeded ? 1 : 0, failed: 0 };
  counted.failed += errorsOutside(errorsFile).length;
  return !succeeded && counted.failed === 0 ? { ...counted, failed: 1 } : counted;
}

/**
 * The test files of errors outside of all tests.
 * @param {string} [file]
 */
function errorsOutside(file) {
  return file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}
