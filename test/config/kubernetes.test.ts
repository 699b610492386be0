import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { kubernetesFile, parseKubernetes, readKubernetes } from '../../src/config/kubernetes.ts';

const file = { namespace: 'genenv', image: 'trainer:1', claim: 'store', mountPath: '/store' };
const parse = (fields: object = {}) => parseKubernetes(JSON.stringify({ ...file, ...fields }), 'k.json');
const messageOf = (fields: object): string => {
  try {
    parse(fields);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
};

describe('the operator’s file on jobs in Kubernetes', () => {
  it('has defaults for a trainer of this project’s image', () => {
    expect(parse()).toEqual({
      ...file,
      python: '/usr/local/bin/python',
      resources: {},
      tolerations: [],
      nodeSelector: {},
      imagePullSecrets: [],
      processesPerPod: 1,
      service: 'genenv-jobs',
      runAsUser: 1000,
    });
  });

  it.each([
    [{ namespace: 'Gen Env' }, /namespace: got "Gen Env"/],
    [{ image: 'trainer --privileged' }, /image: got "trainer --privileged"; expected an image/],
    [{ mountPath: 'store' }, /mountPath: got "store"; expected an absolute path/],
    [{ runAsUser: 0 }, /runAsUser: got 0/],
    [
      { resources: { limits: { memory: 'much' } } },
      /resources\.limits\.memory: got "much"; expected a quantity/,
    ],
    [{ tolerations: [{ operator: 'Any' }] }, /tolerations/],
    [{ nodeSelector: { 'a b': 'c' } }, /nodeSelector/],
    [{ hostNetwork: true }, /hostNetwork/],
  ])('refuses %j by name', (fields, message) => {
    expect(messageOf(fields)).toMatch(message);
  });

  it('is where the variable says, else in the home folder, and says so when it is missing', () => {
    const home = mkdtempSync(join(tmpdir(), 'genenv-kubernetes-'));
    onTestFinished(() => rmSync(home, { recursive: true }));
    expect(kubernetesFile('/etc/k.json', home)).toBe('/etc/k.json');
    const path = kubernetesFile(undefined, home);
    expect(() => readKubernetes(path)).toThrow(`${path} cannot be read (ENOENT)`);
    writeFileSync(path, '{');
    expect(() => readKubernetes(path)).toThrow('expected JSON');
    writeFileSync(path, JSON.stringify(file));
    expect(readKubernetes(path)).toMatchObject(file);
  });
});
