// @ts-check
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPath, pythonEnvironment, repository } from './locations.mjs';
import { CommandFailed, run } from './run-command.mjs';
import { buildingFolder } from './unfinished.mjs';

const requirements = join(repository, 'trainer/requirements.txt');
const uvRequirements = join(repository, 'infra/setup/uv.txt');

/** Written last of all: an environment without it is one whose installation was killed. */
const stamp = (/** @type {string} */ environment) => join(environment, 'genenv-ready.json');

/**
 * A Python of 3.11 or newer that can make environments.
 * @returns {Promise<string>}
 */
async function basePython() {
  for (const name of ['python3', 'python3.12', 'python3.11', 'python3.13', 'python']) {
    const path = onPath(name);
    if (path === null) continue;
    try {
      await run(path, ['-c', 'import sys, venv, ensurepip; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else 1)']);
      return path;
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
    }
  }
  throw new Error('no Python from 3.11 to 3.13 with its venv module was found on the PATH');
}

/** pip's settings under the names that uv reads, and like pip the machine's own certificates: a proxy may have its own. */
function uvSettings() {
  const { PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_CERT, UV_DEFAULT_INDEX, UV_INDEX, UV_SYSTEM_CERTS = 'true', UV_NATIVE_TLS = UV_SYSTEM_CERTS, SSL_CERT_FILE } = process.env;
  return {
    UV_DEFAULT_INDEX: UV_DEFAULT_INDEX ?? PIP_INDEX_URL,
    UV_INDEX: UV_INDEX ?? PIP_EXTRA_INDEX_URL,
    SSL_CERT_FILE: SSL_CERT_FILE ?? PIP_CERT,
    UV_SYSTEM_CERTS,
    // Its older name.
    UV_NATIVE_TLS,
  };
}

/**
 * An installer for the environment: uv (seconds) where it can be had, else pip (minutes).
 * @param {string} python
 * @returns {Promise<(args: string[]) => Promise<string>>}
 */
async function installer(python) {
  const pip = (/** @type {string[]} */ args) => run(python, ['-m', 'pip', 'install', '--no-input', ...args]);
  let uv = onPath('uv');
  if (uv === null) {
    try {
      await pip(['--require-hashes', '-r', uvRequirements]);
      uv = join(dirname(python), 'uv');
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      return pip;
    }
  }
  const command = uv;
  return (args) => run(command, ['pip', 'install', '--python', python, ...args], { env: uvSettings() });
}

/**
 * The lock without torch and the CUDA packages that it pulls in, for when torch comes from an index of the user's
 * choice: that index has other builds, with other hashes.
 * @param {string} lock
 */
export function withoutTorch(lock) {
  return lock.split(/\n(?=\S)/).filter((entry) => !/^(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)(\[.*?\])?==/.test(entry)).join('\n');
}

/**
 * @param {string} environment
 * @param {(text: string) => void} say
 */
async function install(environment, say) {
  const python = join(environment, 'bin', 'python');
  await run(await basePython(), ['-m', 'venv', environment]);
  const pip = await installer(python);
  const torchIndex = process.env.GENENV_TORCH_INDEX;
  if (!torchIndex) {
    await pip(['--require-hashes', '-r', requirements]);
    return;
  }
  const lock = readFileSync(requirements, 'utf8');
  const torch = /^torch==[^\s;\\]+/m.exec(lock)?.[0] ?? 'torch';
  say(`${torch} from GENENV_TORCH_INDEX`);
  await pip(['--index-url', torchIndex, '--no-deps', torch]);
  const rest = join(environment, 'requirements-without-torch.txt');
  writeFileSync(rest, withoutTorch(lock));
  await pip(['--require-hashes', '--no-deps', '-r', rest]);
}

/** @type {import('./steps.mjs').Step} */
export const pythonPackages = {
  name: 'Python environment',
  doing: 'installing trainer/requirements.txt (20 seconds to some minutes)',
  async ready() {
    const own = process.env.GENENV_PYTHON;
    if (own) {
      const probe = 'import importlib.util as u, sys; sys.exit(", ".join(n for n in ("torch", "transformers", "accelerate", "peft", "fastapi", "uvicorn") if u.find_spec(n) is None) or 0)';
      await run(own, ['-c', probe]).catch((error) => {
        throw new Error(`GENENV_PYTHON=${own} lacks what trainer/requirements.txt names; unset it, or install the packages there\n${error.message}`);
      });
      return true;
    }
    const environment = pythonEnvironment();
    if (!existsSync(stamp(environment))) return false;
    // The Python that it was made with may have been removed since.
    return run(join(environment, 'bin', 'python'), ['-c', 'pass']).then(() => true, () => false);
  },
  async run(say) {
    const environment = pythonEnvironment();
    const building = buildingFolder(environment);
    try {
      await install(building, say);
      writeFileSync(stamp(building), JSON.stringify({ at: new Date().toISOString() }));
      rmSync(environment, { recursive: true, force: true });
      renameSync(building, environment);
    } finally {
      rmSync(building, { recursive: true, force: true });
    }
  },
  remedy: 'install Python 3.11 or newer with its venv module (Debian, Ubuntu: `apt install python3-venv`), check that the package index can be reached (PIP_INDEX_URL names another), or set GENENV_PYTHON to a Python that has these packages; then run the command again',
};
