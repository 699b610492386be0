// @ts-check
import { join } from 'node:path';
import { engineEnvironment, engines, repository } from './locations.mjs';
import { environmentReady, makeEnvironment } from './virtual-environment.mjs';

/**
 * The Python of an engine, with what its lock names and nothing else: packages that their authors declare and
 * an engine does without stay away.
 * @param {import('./locations.mjs').Engine} engine
 * @returns {import('./steps.mjs').Step}
 */
export function engineStep(engine) {
  const environment = engineEnvironment(engine);
  return {
    name: `Engine ${engine}`,
    doing: `installing ${engines[engine]}`,
    ready: () => environmentReady(environment),
    run: () =>
      makeEnvironment(
        environment,
        async (pip) =>
          void (await pip(['--no-deps', '--require-hashes', '-r', join(repository, engines[engine])])),
      ),
    remedy:
      'install Python 3.11 or newer with its venv module (Debian, Ubuntu: `apt install python3-venv`), and for alfworld, whose packages come as source in part, gcc, g++, cmake and make (`apt install build-essential cmake`); check that the package index can be reached (PIP_INDEX_URL names another); then run the command again',
  };
}
