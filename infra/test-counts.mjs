// @ts-check

/** @typedef {{ passed: number, failed: number }} Counts */

/**
 * Of vitest's JSON report. A file that could not be run has no tests, and is a failure.
 * @param {string} report
 * @returns {Counts}
 */
export function countVitest(report) {
  const { numPassedTests, numFailedTests, testResults } =
    /** @type {{ numPassedTests: number, numFailedTests: number, testResults: { status: string, assertionResults: { status: string }[] }[] }} */ (
      JSON.parse(report)
    );
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  return { passed: numPassedTests, failed: numFailedTests + broken.length };
}

/**
 * Of a JUnit report, as pytest writes it. Skipped tests are neither.
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
