import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';

const module = pathToFileURL(join(repository, 'src/runtime/output-streams.ts')).href;
const print = `for (let line = 0; line < 5; line++) {
  process.stdout.write('a line\\n');
  process.stderr.write('a line\\n');
  console.log('a line');
  await new Promise((resolve) => setTimeout(resolve, 10));
}`;

/** Ends as a process does whose output is on a full disk: /dev/full refuses every write. */
function exitCode(script: string): number | null {
  const full = openSync('/dev/full', 'w');
  try {
    return spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', full, full],
    }).status;
  } finally {
    closeSync(full);
  }
}

test('a process lives on if its output cannot be written, and dies of it otherwise', () => {
  expect(exitCode(`import { survivePrintFailures } from '${module}'; survivePrintFailures(); ${print}`)).toBe(
    0,
  );
  expect(exitCode(print)).not.toBe(0);
});
