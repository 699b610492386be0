// @ts-check
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import {
  goComponents,
  imageComponents,
  npmOutput,
  pythonComponents,
  pythonLicenses,
  pythonLocks,
  temporalComponents,
} from './components.mjs';

/** @typedef {import('./components.mjs').Component} Component */

/**
 * The software bill of materials in CycloneDX 1.5: npm's own for the packages of Node, and beside them what the other locks pin.
 * @returns {Promise<Record<string, any>>}
 */
export async function billOfMaterials() {
  const bill = JSON.parse(await npmOutput(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']));
  // npm takes the name of the folder.
  bill.metadata.component.name = 'genenv';
  const licenses = await pythonLicenses().catch(() => /** @type {Record<string, string>} */ ({}));
  const python = pythonLocks.flatMap((lock) =>
    pythonComponents(lock).map((component) => ({
      ...component,
      license: lock.startsWith('trainer/') ? licenses[component.name] : undefined,
    })),
  );
  bill.components.push(
    ...python.map((component) =>
      entry('library', `pkg:pypi/${component.name}@${component.version}`, component),
    ),
    ...temporalComponents().map((component) =>
      entry('application', `pkg:github/temporalio/cli@v${component.version}`, component),
    ),
    ...goComponents().map((component) =>
      entry('application', `pkg:golang/${component.name}@${component.version}`, component),
    ),
    ...imageComponents().map((component) =>
      entry('container', `pkg:oci/${component.name}@sha256%3A${component.sha256?.[0]}`, component),
    ),
  );
  return bill;
}

/**
 * @param {string} type
 * @param {string} purl
 * @param {Component} component
 */
const entry = (type, purl, { name, version, license, sha256 = [], lock }) => ({
  type,
  // Two locks may pin one package.
  'bom-ref': lock === undefined ? purl : `${lock}#${purl}`,
  name,
  version,
  purl,
  hashes: sha256.map((content) => ({ alg: 'SHA-256', content })),
  ...(license !== undefined && { licenses: [{ expression: license }] }),
  ...(lock !== undefined && { properties: [{ name: 'genenv:lock', value: lock }] }),
});

if (process.argv[1] === import.meta.filename) {
  const file = resolve(process.argv[2] ?? 'sbom.cdx.json');
  const bill = await billOfMaterials();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`${file}: ${bill.components.length} components, CycloneDX ${bill.specVersion}`);
}
