// @ts-check
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onPath, repository } from './locations.mjs';
import { run } from './run-command.mjs';

/** Executables, and their packages. @type {Record<string, string>} */
const commands = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
};

/**
 * Builds an API server of Kubernetes and its etcd from source. Their module replaces its parts by folders, which
 * `go install` refuses, so a module of our own names both, and the versions and sums of all that they are made of.
 * @param {string} folder Is made, with `bin/` in it.
 * @param {{ lock: string }} engine
 */
export async function buildKubernetes(folder, { lock }) {
  const go = onPath('go');
  if (go === null) throw new Error('no Go was found on the PATH');
  const module = join(repository, dirname(lock));
  const version = /k8s\.io\/kubernetes (v[\d.]+)/.exec(readFileSync(join(module, 'go.mod'), 'utf8'))?.[1];
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const env = { GOFLAGS: '-trimpath -mod=readonly', GOWORK: 'off' };
  const flags = `-s -w -X k8s.io/component-base/version.gitVersion=${version}`;
  for (const [name, path] of Object.entries(commands)) {
    await run(go, ['build', '-ldflags', flags, '-o', join(bin, name), path], { env, cwd: module });
    await run(join(bin, name), ['--version']);
  }
}
