// @ts-check
import { existsSync, mkdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildKubernetes } from './kubernetes.mjs';
import { cacheRoot, engineFolder, engines, pythonPath, repository } from './locations.mjs';
import { unpackPostgresql } from './postgresql.mjs';
import { unpackPrometheus } from './prometheus.mjs';
import { buildGoEngine } from './go-engine.mjs';
import { installLock } from './python-environment.mjs';
import { run } from './run-command.mjs';
import { unpackSlurm } from './slurm.mjs';
import { buildingFolder } from './unfinished.mjs';
import { environmentReady, isStamped, makeEnvironment, writeStamp } from './virtual-environment.mjs';

/** @typedef {import('./locations.mjs').Engine} Engine */

/**
 * Whether the engine is installed whole.
 * @param {Engine} engine
 * @returns {Promise<boolean>}
 */
export const engineReady = async (engine) =>
  makers[engine] === undefined ? environmentReady(engineFolder(engine)) : isStamped(engineFolder(engine));

/**
 * Installs an engine whole, or not at all.
 * @param {Engine} engine
 * @returns {import('./steps.mjs').Step}
 */
export function engineStep(engine) {
  return {
    name: `Engine ${engine}`,
    doing: `installing ${engines[engine].what} (${engineSize(engine)})`,
    ready: () => engineReady(engine),
    async run(say) {
      requireSpace(engine);
      const make = makers[engine];
      await (make === undefined ? makePythonEngine(engine, say) : makeWhole(engine, make));
    },
    remedy: remedies[engine],
  };
}

/**
 * @param {Engine} engine
 * @returns {string}
 */
export function engineSize(engine) {
  const { downloadMB, diskMB, time } = engines[engine];
  return `${sizeText(downloadMB)} to download, ${sizeText(diskMB)} on disk, ${time}`;
}

/** @param {number} megabytes */
const sizeText = (megabytes) =>
  megabytes < 1000 ? `${megabytes} MB` : `${(megabytes / 1000).toFixed(1)} GB`;

const indexRemedy =
  'check that the package index can be reached (PIP_INDEX_URL names another), and that there is room in the cache folder (XDG_CACHE_HOME moves it); then run the command again';
const pythonRemedy = `install Python 3.11, 3.12 or 3.13 with its venv module (Debian, Ubuntu: \`apt install python3-venv\`); ${indexRemedy}`;

const debianRemedy =
  'use a Debian or Ubuntu whose lists are up to date (`apt-get update`), for whoever is not root too; then run the command again';

const goRemedy =
  'install Go 1.21 or newer (https://go.dev/dl), which downloads the Go of the lock from the module proxy (GOPROXY names another); then run the command again';

/** @type {Record<Engine, string>} */
const remedies = {
  alfworld: `install gcc, g++, cmake and make (\`apt install build-essential cmake\`), since some of its packages come as source; ${pythonRemedy}`,
  bfcl: pythonRemedy,
  kubernetes:
    'install Go 1.21 or newer (https://go.dev/dl), which downloads the Go that it asks for from the module proxy (GOPROXY names another); then run the command again',
  postgresql: debianRemedy,
  prometheus: debianRemedy,
  ray: pythonRemedy,
  slurm: debianRemedy,
  smollm2: indexRemedy,
  'temporal-server': goRemedy,
  trackers: pythonRemedy,
  versitygw: goRemedy,
  vllm: `use Linux on x86-64 or ARM, for which there are builds, or a server elsewhere (\`baseUrl\`); ${pythonRemedy}`,
};

/**
 * What makes an engine that is no Python environment, in a folder that is not there yet.
 * @type {Partial<Record<Engine, (folder: string, engine: import('./locations.mjs').EngineDescription) => Promise<void>>>}
 */
const makers = {
  kubernetes: buildKubernetes,
  postgresql: unpackPostgresql,
  prometheus: unpackPrometheus,
  slurm: unpackSlurm,
  smollm2: makeModel,
  'temporal-server': buildGoEngine,
  versitygw: buildGoEngine,
};

/**
 * The Python of an engine, with what its lock names and nothing else: packages that their authors declare and
 * an engine does without stay away.
 * @param {Engine} engine
 * @param {(text: string) => void} say
 */
function makePythonEngine(engine, say) {
  const lock = join(repository, engines[engine].lock);
  return makeEnvironment(engineFolder(engine), (pip, environment) =>
    installLock({ pip, environment, say, lock, isAlone: true }),
  );
}

/**
 * @param {Engine} engine
 * @param {(folder: string, engine: import('./locations.mjs').EngineDescription) => Promise<void>} make
 */
async function makeWhole(engine, make) {
  const folder = engineFolder(engine);
  const building = buildingFolder(folder);
  const made = join(building, 'engine');
  try {
    await make(made, engines[engine]);
    writeStamp(made);
    rmSync(folder, { recursive: true, force: true });
    renameSync(made, folder);
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/**
 * A folder with a model, made by a script from what its lock names.
 * @param {string} folder
 * @param {import('./locations.mjs').EngineDescription} engine
 */
async function makeModel(folder, { lock, script }) {
  const packages = join(dirname(folder), 'packages');
  await run(pythonPath(), [
    ...['-P', '-m', 'pip', 'install', '--no-input', '--no-deps', '--require-hashes'],
    ...['--target', packages, '-r', join(repository, lock)],
  ]);
  await run(pythonPath(), [join(repository, String(script)), packages, folder], {
    env: { HF_HUB_OFFLINE: '1' },
  });
}

/**
 * Asks for room before the download, not in the middle of it.
 * @param {Engine} engine
 */
function requireSpace(engine) {
  let folder = cacheRoot();
  while (!existsSync(folder)) folder = dirname(folder);
  const { bavail, bsize } = statfsSync(folder);
  const { diskMB, downloadMB } = engines[engine];
  if (bavail * bsize < (diskMB + downloadMB) * 1e6)
    throw new Error(
      `${sizeText(Math.floor((bavail * bsize) / 1e6))} are free in ${cacheRoot()}, and it takes ${sizeText(diskMB + downloadMB)} while it is installed`,
    );
  mkdirSync(cacheRoot(), { recursive: true });
}
