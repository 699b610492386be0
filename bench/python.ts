import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonEnvironment, pythonPath, repository } from '../infra/setup/locations.mjs';

/** What a Python script of this folder measures: it writes JSON to the file after `--out`. */
export function runPython(
  script: string,
  args: readonly string[] = [],
  variables: Record<string, string> = {},
): Record<string, unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-bench-'));
  const out = join(folder, 'out.json');
  try {
    const env = {
      ...process.env,
      PYTHONPATH: join(repository, 'trainer'),
      PATH: `${join(pythonEnvironment(), 'bin')}:${process.env.PATH ?? ''}`,
      ...variables,
    };
    execFileSync(pythonPath(), [join(repository, 'bench', script), '--out', out, ...args], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    return JSON.parse(readFileSync(out, 'utf8')) as Record<string, unknown>;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
