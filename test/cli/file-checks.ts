import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { Check } from '../../src/cli/lib/check.ts';
import { checkExperiment } from '../../src/cli/lib/file-checks.ts';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { exampleFile, withFields } from '../../test-support/experiments.ts';
import { loopbackEndpoints } from '../../test-support/permitted-servers.ts';

/** A new home folder, on a machine without engines until the test is over. */
export function emptyHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'genenv-doctor-'));
  vi.stubEnv('GENENV_ENGINE_SMOLLM2', '');
  vi.stubEnv('XDG_CACHE_HOME', join(home, 'cache'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  });
  return home;
}

/** Two policies over one base model. */
const fileOn = (serving: object, fields: Record<string, unknown>) => {
  const model = { type: 'pretrained', path: '/models/small', adapter: { r: 8 } };
  return parseExperiment(
    withFields(exampleFile, { 'agent.model': model, 'environment.model': model, serving, ...fields }),
  );
};

/** What `genenv doctor FILE` finds for a file with this serving. */
export const checksOn = (
  serving: object,
  fields: Record<string, unknown> = {},
  home = emptyHome(),
): Promise<Check[]> =>
  checkExperiment(fileOn(serving, fields), {
    env: { GENENV_HOME: home, GENENV_ENDPOINTS: loopbackEndpoints },
    print: () => undefined,
    warn: () => undefined,
    terminal: null,
  });

export const stateOf = (checks: readonly Check[]) =>
  Object.fromEntries(checks.map(({ what, state }) => [what.replace(/http.*/, 'server'), state]));

export const find = (checks: readonly Check[], what: string) =>
  checks.find((check) => check.what.startsWith(what));

/** What is missing, but for the model's folder, which is elsewhere. */
export const missingIn = (checks: readonly Check[]) =>
  checks.filter(({ state, what }) => state === 'missing' && !what.startsWith('Model /'));
