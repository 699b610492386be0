// @ts-check
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonEnvironment, repository } from './locations.mjs';
import { run } from './run-command.mjs';
import { environmentReady, makeEnvironment } from './virtual-environment.mjs';

const requirements = join(repository, 'trainer/requirements.txt');

/**
 * The lock without torch and the CUDA packages that it pulls in, for when torch comes from an index of the
 * user's choice: that index has other builds, with other hashes.
 * @param {string} lock
 */
export function withoutTorch(lock) {
  return lock
    .split(/\n(?=\S)/)
    .filter((entry) => !/^(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)(\[.*?\])?==/.test(entry))
    .join('\n');
}

/**
 * Installs what a lock names; torch from GENENV_TORCH_INDEX if that is set.
 * @param {object} request
 * @param {(args: string[]) => Promise<string>} request.pip
 * @param {string} request.environment
 * @param {(text: string) => void} request.say
 * @param {string} request.lock
 * @param {boolean} [request.isAlone] Whether nothing comes that the lock does not name, though its packages ask for it.
 */
export async function installLock({ pip, environment, say, lock, isAlone = false }) {
  const torchIndex = process.env.GENENV_TORCH_INDEX;
  const text = readFileSync(lock, 'utf8');
  const torch = /^torch==[^\s;\\]+/m.exec(text)?.[0];
  if (!torchIndex || torch === undefined) {
    await pip([...(isAlone ? ['--no-deps'] : []), '--require-hashes', '-r', lock]);
    return;
  }
  say(
    `${torch} from GENENV_TORCH_INDEX. WARNING: it is installed without a check of its hash; trust that index`,
  );
  await pip(['--index-url', torchIndex, '--no-deps', torch]);
  const rest = join(environment, 'requirements-without-torch.txt');
  writeFileSync(rest, withoutTorch(text));
  await pip(['--require-hashes', '--no-deps', '-r', rest]);
}

/** @type {import('./steps.mjs').Step} */
export const pythonPackages = {
  name: 'Python environment',
  doing: 'installing trainer/requirements.txt (20 seconds to some minutes)',
  async ready() {
    const own = process.env.GENENV_PYTHON;
    if (own) {
      const probe =
        'import importlib.util as u, sys; sys.exit(", ".join(n for n in ("torch", "transformers", "accelerate", "peft", "fastapi", "uvicorn") if u.find_spec(n) is None) or 0)';
      await run(own, ['-c', probe]).catch((error) => {
        throw new Error(
          `GENENV_PYTHON=${own} lacks what trainer/requirements.txt names; unset it, or install the packages there\n${error.message}`,
        );
      });
      return true;
    }
    return environmentReady(pythonEnvironment());
  },
  run: (say) =>
    makeEnvironment(pythonEnvironment(), (pip, environment) =>
      installLock({ pip, environment, say, lock: requirements }),
    ),
  remedy:
    'install Python 3.11, 3.12 or 3.13 with its venv module (Debian, Ubuntu: `apt install python3-venv`), check that the package index can be reached (PIP_INDEX_URL names another), set XDG_CACHE_HOME if the cache folder cannot be written, or set GENENV_PYTHON to a Python that has these packages; then run the command again',
};
