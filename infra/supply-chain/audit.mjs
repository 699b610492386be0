// @ts-check
import { nodeComponents, npmOutput, pythonComponents, pythonLocks } from './components.mjs';

/**
 * `npm run audit`: known vulnerabilities of everything that the locks pin, as OSV knows them, and the registry's signatures of Node's
 * packages. What cannot be reached is said and counts as no finding, unless `--must-reach` is given.
 */
const address = process.env.GENENV_OSV ?? 'https://api.osv.dev/v1/querybatch';
const SECONDS = 20;
/** Queries that OSV takes in a request. */
const BATCH = 500;

/** @typedef {{ name: string, version: string, ecosystem: 'npm' | 'PyPI', from: string }} Pin */

/** @returns {Pin[]} */
const pins = () => [
  ...nodeComponents().map(({ name, version }) => ({
    name,
    version,
    ecosystem: /** @type {const} */ ('npm'),
    from: 'package-lock.json',
  })),
  ...pythonLocks.flatMap((lock) =>
    pythonComponents(lock).map(({ name, version }) => ({
      name,
      version,
      ecosystem: /** @type {const} */ ('PyPI'),
      from: lock,
    })),
  ),
];

/**
 * Vulnerabilities by the pins that have them.
 * @param {Pin[]} wanted
 * @returns {Promise<{ pin: Pin, ids: string[] }[]>}
 */
async function vulnerabilities(wanted) {
  const results = [];
  for (let start = 0; start < wanted.length; start += BATCH) {
    const batch = wanted.slice(start, start + BATCH);
    const response = await fetch(address, {
      method: 'POST',
      signal: globalThis.AbortSignal.timeout(SECONDS * 1000),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        queries: batch.map(({ name, version, ecosystem }) => ({ package: { name, ecosystem }, version })),
      }),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const answer = /** @type {{ results: { vulns?: { id: string }[] }[] }} */ (await response.json());
    if (answer.results?.length !== batch.length) throw new Error('its answer has another number of results');
    for (const [index, { vulns = [] }] of answer.results.entries()) {
      const pin = batch[index];
      if (pin && vulns.length > 0) results.push({ pin, ids: vulns.map(({ id }) => id) });
    }
  }
  return results;
}

/** @param {unknown} error */
const reasonOf = (error) => {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return `no answer within ${SECONDS} s`;
  return error.cause instanceof Error ? error.cause.message : error.message;
};

let findings = 0;
let unreached = 0;
const wanted = pins();
try {
  const vulnerable = await vulnerabilities(wanted);
  for (const { pin, ids } of vulnerable)
    console.error(`${pin.name} ${pin.version} (${pin.from}): ${ids.join(', ')}; see https://osv.dev/list`);
  findings += vulnerable.length;
  console.log(`${wanted.length} pinned packages, ${vulnerable.length} with known vulnerabilities`);
} catch (error) {
  unreached += 1;
  console.log(
    `NOT CHECKED: ${wanted.length} pinned packages, as ${address} could not be reached: ${reasonOf(error)}`,
  );
}
try {
  console.log(
    (await npmOutput(['audit', 'signatures', '--fetch-retries=0', '--fetch-timeout=20000'])).trim(),
  );
} catch (error) {
  const { stdout = '', stderr = '' } = /** @type {{ stdout?: string, stderr?: string }} */ (error);
  if (/invalid|missing/i.test(stdout)) {
    findings += 1;
    console.error(stdout.trim());
  } else {
    unreached += 1;
    const line = stderr.split('\n').find((text) => /error/i.test(text)) ?? reasonOf(error);
    console.log(`NOT CHECKED: the registry's signatures could not be reached: ${line.trim()}`);
  }
}
if (findings > 0) process.exitCode = 1;
else if (unreached > 0 && process.argv.includes('--must-reach')) process.exitCode = 3;
