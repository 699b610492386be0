import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { expect, onTestFinished, test } from 'vitest';
import { repository, temporalPath } from '../../infra/setup/locations.mjs';
import { read } from './repository.ts';

/** The sample as a client reads it, with certificates in place of those it names. */
function profile(name: string, environment: Record<string, string> = {}): ClientConnectConfig {
  const folder = mkdtempSync(join(tmpdir(), 'genenv-profiles-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of ['ca.pem', 'client.pem', 'client.key']) writeFileSync(join(folder, file), file);
  const path = join(folder, 'temporal.toml');
  writeFileSync(path, read('infra/temporal.toml').replaceAll('/etc/temporal/', `${folder}/`));
  return loadClientConnectConfig({
    profile: name,
    configSource: { path },
    configFileStrict: true,
    overrideEnvVars: environment,
  });
}

test('default: a server on this machine', () => {
  expect(profile('default')).toMatchObject({
    namespace: 'default',
    connectionOptions: { address: 'localhost:7233' },
  });
});

test('staging: certificates for both sides', () => {
  const { namespace, connectionOptions } = profile('staging');
  expect(namespace).toBe('genenv-staging');
  expect(connectionOptions).toMatchObject({
    address: 'temporal.staging.example.com:7233',
    tls: { serverNameOverride: 'temporal.staging.example.com' },
  });
  const { serverRootCACertificate, clientCertPair } = connectionOptions.tls as {
    serverRootCACertificate: Uint8Array;
    clientCertPair: { crt: Uint8Array; key: Uint8Array };
  };
  expect(
    [serverRootCACertificate, clientCertPair.crt, clientCertPair.key].map((bytes) =>
      Buffer.from(bytes).toString(),
    ),
  ).toEqual(['ca.pem', 'client.pem', 'client.key']);
});

test('cloud: the API key of the environment wins over the one in the file', () => {
  const { namespace, connectionOptions } = profile('cloud', { TEMPORAL_API_KEY: 'secret' });
  expect(namespace).toBe('genenv.a1b2c');
  expect(connectionOptions).toMatchObject({
    address: 'eu-central-1.aws.api.temporal.io:7233',
    apiKey: 'secret',
    tls: true,
  });
});

test('the Temporal CLI lists the same profiles', (context) => {
  const { status, stdout } = spawnSync(temporalPath(), ['config', 'list'], {
    encoding: 'utf8',
    env: { ...process.env, TEMPORAL_CONFIG_FILE: join(repository, 'infra/temporal.toml') },
  });
  if (status === null) context.skip('there is no Temporal executable here');
  for (const name of ['default', 'staging', 'cloud']) expect(stdout).toContain(name);
});
