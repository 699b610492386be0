import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { generatedPart, writeResultsDocument } from '../../src/cli/lib/comparison-results.ts';

const folder = mkdtempSync(join(tmpdir(), 'genenv-results-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('what people wrote below the line is kept, whatever the results become', async () => {
  const file = join(folder, 'results.md');
  await writeResultsDocument(file, '# First\n', '{"first":1}');
  const [, line] = readFileSync(file, 'utf8').split('\n\n');
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n## What we make of it\n\nIt holds.\n`);
  await writeResultsDocument(file, '# Second\n', '{"second":2}');
  expect(readFileSync(file, 'utf8')).toBe(
    `# Second\n\n${line!.trimEnd()}\n\n## What we make of it\n\nIt holds.\n`,
  );
  expect(generatedPart(readFileSync(file, 'utf8'))).toBe('# Second\n');
  expect(readFileSync(join(folder, 'results.json'), 'utf8')).toBe('{"second":2}');
});
