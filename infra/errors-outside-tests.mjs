// @ts-check
import { writeFileSync } from 'node:fs';

/** The variable that names the file which gets the errors. */
export const errorsFileVariable = 'GENENV_TEST_ERRORS_FILE';

/** A reporter of vitest for errors outside of all tests, which are in none of its reports: a line each, the test file. */
export default class ErrorsOutsideTests {
  /**
   * @param {unknown} _modules
   * @param {readonly { VITEST_TEST_PATH?: string }[]} errors
   */
  onTestRunEnd(_modules, errors) {
    const file = process.env[errorsFileVariable];
    const lines = errors.map(({ VITEST_TEST_PATH: path = 'unknown' }) => `${path}\n`);
    if (file !== undefined) writeFileSync(file, lines.join(''));
  }
}
