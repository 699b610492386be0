// @ts-check
import { nodeComponents, pythonComponents, pythonLicenses } from './components.mjs';

/** Licenses that let everybody use, change and pass on a program, with no duty beyond its own files. */
const allowed = new Set([
  ...['0BSD', 'Apache-2.0', 'Apache-2.0 WITH LLVM-exception', 'BSD-2-Clause', 'BSD-3-Clause', 'BSL-1.0'],
  ...['BlueOak-1.0.0', 'CC-BY-4.0', 'CC0-1.0', 'CNRI-Python', 'ISC', 'MIT', 'MIT-0', 'MIT-CMU', 'MPL-2.0'],
  ...['PSF-2.0', 'Unlicense', 'Zlib'],
]);

/** Packages that are used although their license is not on the list, or is not said, and why. @type {[RegExp, string][]} */
const exceptions = [
  [
    /^(nvidia-[\w-]+|cuda-toolkit)$/,
    'NVIDIA’s CUDA libraries, which torch needs; NVIDIA lets its users install them',
  ],
  [/^unionfs$/, 'its README says Unlicense'],
];

/**
 * Whether an SPDX expression can be met with allowed licenses alone.
 * @param {string} expression
 */
export const isAllowed = (expression) =>
  expression
    .replace(/[()]/g, '')
    .split(' AND ')
    .every((part) => part.split(' OR ').some((license) => allowed.has(license.trim())));

/**
 * @typedef {{ name: string, version: string, license: string | undefined, problem: string | undefined }} Finding
 */

/**
 * What the project itself installs, with the licenses that packages say: those of the lock of Node, and those of the trainer's
 * environment, which must be installed. Engines are programs of their own, which their users choose.
 * @returns {Promise<Finding[]>}
 */
export async function licenseFindings() {
  const licenses = await pythonLicenses();
  const components = [
    ...nodeComponents(),
    ...pythonComponents('trainer/requirements.txt')
      // A lock is for all systems; what this one does not install has no license here.
      .filter(
        ({ name }) => Object.hasOwn(licenses, name) || exceptions.some(([pattern]) => pattern.test(name)),
      )
      .map((component) => ({ ...component, license: licenses[component.name] })),
  ];
  return components.map(({ name, version, license }) => ({
    name,
    version,
    license,
    problem: problemOf(name, license),
  }));
}

/**
 * @param {string} name
 * @param {string | undefined} license
 */
function problemOf(name, license) {
  if (exceptions.some(([pattern]) => pattern.test(name))) return undefined;
  if (license === undefined) return 'says no license';
  return isAllowed(license) ? undefined : `${license} is not on the list`;
}

if (process.argv[1] === import.meta.filename) {
  const findings = await licenseFindings();
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { license = 'none said' } of findings) counts.set(license, (counts.get(license) ?? 0) + 1);
  for (const [license, count] of [...counts].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(5)}  ${license}`);
  for (const [pattern, reason] of exceptions) {
    const names = findings.filter(({ name }) => pattern.test(name)).map(({ name }) => name);
    if (names.length > 0) console.log(`\nexception: ${names.join(', ')}: ${reason}`);
  }
  const wrong = findings.filter(({ problem }) => problem !== undefined);
  for (const { name, version, problem } of wrong) console.error(`${name} ${version}: ${problem}`);
  console.log(`\n${findings.length} packages, ${wrong.length} to look at`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}
