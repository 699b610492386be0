// @ts-check

/** @typedef {{ passed: number, failed: number }} Counts */
/**
 * @typedef {object} VitestReport
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {{ name: string, status: string, assertionResults: { status: string, fullName: string, duration?:
 * number | null }[] }[]} testResults
 */

/**
 * Counts vitest's JSON report. A file that could not be run has no tests, and is a failure.
 * @param {string} report
 * @returns {Counts}
 */
export function countVitest(report) {
  const { numPassedTests, numFailedTests, testResults } = /** @type {VitestReport} */ (JSON.parse(report));
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}

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
        name: `${name.replace(/^.*\/(?=test\/)/, '')}: ${fullName}`,
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
