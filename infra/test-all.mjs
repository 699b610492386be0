// @ts-check
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pythonPath, repository } from './setup/locations.mjs';
import { countJunit, countVitest } from './test-counts.mjs';

/**
 * Runs every suite, also after one has failed, and ends with one line for all of them: `N passed, N failed`.
 * Names of suites as arguments run only those.
 */
const reports = mkdtempSync(join(tmpdir(), 'genenv-tests-'));
const tool = (/** @type {string} */ path) => join(repository, 'node_modules', path);

/**
 * @typedef {object} Suite
 * @property {string} command
 * @property {string[]} args
 * @property {string} [cwd]
 * @property {(report: string) => import('./test-counts.mjs').Counts} [count] From its report; a suite without
 * one is one test.
 */
/** @type {Record<string, Suite>} */
const suites = {
  lint: { command: process.execPath, args: [tool('eslint/bin/eslint.js'), '.'] },
  types: { command: process.execPath, args: [tool('typescript/bin/tsc'), '--noEmit'] },
  vitest: {
    command: process.execPath,
    args: [
      tool('vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${join(reports, 'vitest')}`,
    ],
    count: countVitest,
  },
  pytest: {
    command: pythonPath(),
    args: ['-m', 'pytest', `--junitxml=${join(reports, 'pytest')}`, '--durations=5'],
    cwd: join(repository, 'trainer'),
    count: countJunit,
  },
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !(name in suites));
if (unknown !== undefined) {
  console.error(`test-all: got ${JSON.stringify(unknown)}; allowed: ${Object.keys(suites).join(', ')}`);
  process.exit(2);
}

const total = { passed: 0, failed: 0 };
const summary = [];
for (const [name, suite] of Object.entries(suites)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`\n=== ${name}`);
  const begun = performance.now();
  const succeeded = await run(suite);
  const { passed, failed } = counts(name, suite, succeeded);
  total.passed += passed;
  total.failed += failed;
  summary.push(
    `${name.padEnd(8)}${((performance.now() - begun) / 1000).toFixed(1).padStart(7)} s  ${passed} passed, ${failed} failed`,
  );
  console.log(`=== ${summary.at(-1)}`);
}
rmSync(reports, { recursive: true, force: true });
console.log(`\n${summary.join('\n')}\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

/**
 * @param {Suite} suite
 * @returns {Promise<boolean>}
 */
function run({ command, args, cwd = repository }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', (error) => {
      console.error(`${command} could not be started: ${error.message}`);
      resolve(false);
    });
    child.on('close', (code) => resolve(code === 0));
  });
}

/**
 * What the report says; a suite that failed without a failed test, or without a report, counts as one
 * failure.
 * @param {string} name
 * @param {Suite} suite
 * @param {boolean} succeeded
 */
function counts(name, { count }, succeeded) {
  const report = join(reports, name);
  const told =
    count && existsSync(report)
      ? count(readFileSync(report, 'utf8'))
      : { passed: succeeded ? 1 : 0, failed: 0 };
  return !succeeded && told.failed === 0 ? { ...told, failed: 1 } : told;
}
