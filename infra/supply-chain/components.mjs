// @ts-check
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pythonPath, repository, TEMPORAL_VERSION } from '../setup/locations.mjs';
import { temporalHashes } from '../setup/temporal-executable.mjs';

/** What this project is made of, as its locks name it: no network, and nothing that is not pinned. */

/**
 * @typedef {object} Component
 * @property {string} name
 * @property {string} version
 * @property {string | undefined} [license] As its author says it.
 * @property {string[]} [sha256] Of the files that may be installed.
 * @property {string} [lock] That names it, path in the repository.
 */

/** Locked requirements: of the trainer, of set-up, and of what `npm run engines` installs. */
export const pythonLocks = [
  'trainer/requirements.txt',
  'infra/setup/uv.txt',
  'infra/engines/ray.txt',
  'infra/engines/smollm2.txt',
  'infra/engines/trackers.txt',
  'infra/engines/vllm.txt',
  'src/benchmarks/alfworld/requirements.txt',
  'src/benchmarks/bfcl/requirements.txt',
];

/** @param {string} path */
const read = (path) => readFileSync(join(repository, path), 'utf8');

/**
 * The packages of package-lock.json.
 * @returns {Component[]}
 */
export function nodeComponents() {
  const { packages } = /** @type {{ packages: Record<string, { version: string, license?: string }> }} */ (
    JSON.parse(read('package-lock.json'))
  );
  return Object.entries(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version, license }]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version,
      ...(license !== undefined && { license }),
    }));
}

/**
 * The packages of locked requirements, each with the hashes of its files.
 * @param {string} lock
 * @returns {Component[]}
 * @throws Error for a package without a hash
 */
export function pythonComponents(lock) {
  return read(lock)
    .split(/\n(?=[A-Za-z0-9])/)
    .flatMap((entry) => {
      const [, name, version] = /^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)/.exec(entry) ?? [];
      if (name === undefined || version === undefined) return [];
      const sha256 = [...entry.matchAll(/--hash=sha256:([0-9a-f]{64})/g)].map(([, hash]) => String(hash));
      if (sha256.length === 0) throw new Error(`${lock}: ${name} has no hash`);
      return [{ name: name.toLowerCase().replace(/[._]/g, '-'), version, sha256, lock }];
    });
}

/**
 * The images of the compose file and the Dockerfiles.
 * @returns {Component[]}
 */
export function imageComponents() {
  const texts = ['compose.yaml', ...readdirSync(join(repository, 'infra'))]
    .filter((name) => name === 'compose.yaml' || /^Dockerfile\.\w+$/.test(name))
    .map((name) => read(`infra/${name}`));
  const images = new Map();
  for (const [, name, version, digest] of texts
    .join('\n')
    .matchAll(/([a-z][a-z0-9./-]*):([\w.-]+)@sha256:([0-9a-f]{64})/g))
    images.set(`${name}:${version}`, { name, version, sha256: [digest] });
  return [...images.values()];
}

/** The archives of the Temporal executable that set-up may download. @returns {Component[]} */
export const temporalComponents = () => [
  { name: 'temporal', version: TEMPORAL_VERSION, license: 'MIT', sha256: Object.values(temporalHashes) },
];

/** What engines build with Go. @returns {Component[]} */
export const goComponents = () =>
  Object.entries({ 'temporal-server': 'MIT', versitygw: 'Apache-2.0' }).map(([engine, license]) => {
    const { module: name, version } = JSON.parse(read(`infra/engines/${engine}.json`));
    return { name, version, license };
  });

/**
 * Licenses of the packages that a Python has, by their names; one that says none is missing.
 * @param {string} [python]
 * @returns {Promise<Record<string, string>>}
 */
export async function pythonLicenses(python = pythonPath()) {
  const script = `
import json
from importlib.metadata import distributions
print(json.dumps({
    package.metadata["Name"].lower().replace("_", "-").replace(".", "-"): [
        package.metadata.get("License-Expression"),
        package.metadata.get("License"),
        *(line for line in package.metadata.get_all("Classifier") or [] if line.startswith("License :: ")),
    ]
    for package in distributions()
}))`;
  const said = /** @type {Record<string, (string | null)[]>} */ (
    JSON.parse(await outputOf(python, ['-P', '-c', script]))
  );
  return Object.fromEntries(
    Object.entries(said).flatMap(([name, [expression, text, ...classifiers]]) => {
      const license = expression ?? spdxOf(text ?? '') ?? spdxOf(classifiers.at(-1) ?? '');
      return license ? [[name, license]] : [];
    }),
  );
}

/**
 * What a command prints on standard output, run in the repository.
 * @param {string} command
 * @param {string[]} args
 */
const outputOf = async (command, args) =>
  (await promisify(execFile)(command, args, { cwd: repository, maxBuffer: 1 << 28, timeout: 60_000 })).stdout;

/**
 * What npm prints: the npm that runs this, else the one on the PATH.
 * @param {string[]} args
 */
export function npmOutput(args) {
  const npm = process.env.npm_execpath;
  return npm && /\.c?js$/.test(npm) ? outputOf(process.execPath, [npm, ...args]) : outputOf('npm', args);
}

/** @type {[RegExp, string][]} */
const texts = [
  [/^(Apache|Apache(-| )2\.0|Apache 2\.0 License|.*Apache Software License)$/, 'Apache-2.0'],
  [/^(MIT|MIT License|.*:: MIT License)$/, 'MIT'],
  [/^(BSD|BSD-3-Clause|3-Clause BSD License|.*:: BSD License)$/, 'BSD-3-Clause'],
  [/^BSD-2-Clause$/, 'BSD-2-Clause'],
  [/ISC License/, 'ISC'],
  [/Mozilla Public License 2\.0/, 'MPL-2.0'],
  [/Python Software Foundation/, 'PSF-2.0'],
  [/^NVIDIA Proprietary Software$/, 'LicenseRef-NVIDIA-Proprietary'],
];

/**
 * The SPDX identifier that an older package means; an expression of identifiers stays as it is.
 * @param {string} text
 */
function spdxOf(text) {
  const matching = texts.find(([pattern]) => pattern.test(text.trim()));
  if (matching !== undefined) return matching[1];
  return /^[\w.+-]+( (AND|OR|WITH) [\w.+-]+)+$/.test(text.trim()) ? text.trim() : undefined;
}
