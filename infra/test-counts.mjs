// @ts-check

/** @typedef {{ passed: number, failed: number }} Counts */
/**
 * @typedef {object} VitestReport
 * @property {{ name: string, status: string, assertionResults: { status: string, fullName: string, duration?:
 * number | null }[] }[]} testResults
 */

/**
 * Counts vitest's JSON report. A file that could not be run has no tests, and is a failure.
 * @param {string} report
 * @returns {Counts}
 */
export function countVitest(report) {
  const { testResults } = /** @type {VitestReport} */ (JSON.parse(report));
  return countFiles(testResults);
}

/**
 * Files of vitest's JSON report in which something failed, with the names of their failed tests.
 * @param {string} report
 * @returns {{ file: string, tests: string[] }[]}
 */
export function failedFiles(report) {
  const { testResults } = /** @type {VitestReport} */ (JSON.parse(report));
  return testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name, assertionResults }) => ({
      file: name,
      tests: assertionResults
        .filter((test) => test.status === 'failed')
        .map(({ fullName }) => `${shortPath(name)}: ${fullName}`),
    }));
}

/**
 * Counts a report whose failed files were run a second time: of these the second report counts alone.
 * @param {string} first
 * @param {string} second
 * @returns {Counts}
 */
export function countTwice(first, second) {
  const again = /** @type {VitestReport} */ (JSON.parse(second)).testResults;
  const names = new Set(again.map(({ name }) => name));
  const others = /** @type {VitestReport} */ (JSON.parse(first)).testResults.filter(
    ({ name }) => !names.has(name),
  );
  return countFiles([...others, ...again]);
}

/**
 * @param {VitestReport['testResults']} files
 * @returns {Counts}
 */
function countFiles(files) {
  const counts = { passed: 0, failed: 0 };
  for (const { status, assertionResults } of files) {
    const failed = assertionResults.filter((test) => test.status === 'failed').length;
    counts.passed += assertionResults.filter((test) => test.status === 'passed').length;
    counts.failed += status === 'failed' && failed === 0 ? 1 : failed;
  }
  return counts;
}

const shortPath = (/** @type {string} */ path) => path.replace(/^.*\/(?=test\/)/, '');

/**
 * The ten slowest tests of vitest's JSON report.
 * @param {string} report
 * @returns {{ name: string, seconds: number }[]}
 */
export function slowestVitest(report) {
  const { testResults } = /** @type {VitestReport} */ (JSON.parse(report));
  return testResults
    .flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, duration }) => ({
        name: `${shortPath(name)}: ${fullName}`,
        seconds: (duration ?? 0) / 1000,
      })),
    )
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, 10);
}

/**
 * Counts a JUnit report, as pytest writes it. Skipped tests are neither.
 * @param {string} report
 * @returns {Counts}
 */
export function countJunit(report) {
  const suite = /<testsuite\b[^>]*>/.exec(report)?.[0] ?? '';
  const number = (/** @type {string} */ name) =>
    Number(new RegExp(`\\b${name}="(\\d+)"`).exec(suite)?.[1] ?? 0);
  const failed = number('failures') + number('errors');
  return { passed: number('tests') - failed - number('skipped'), failed };
}
