import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pythonPath, repository } from '../../infra/setup/locations.mjs';
import { parseExperiment } from '../../src/config/parse-experiment.ts';
import { workerSettings } from '../../src/worker/settings.ts';
import { defined, exists, read } from './repository.ts';

interface Service {
  image: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  profiles?: string[];
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  read_only?: boolean;
  user?: string;
  cap_drop?: string[];
  security_opt?: string[];
  pids_limit?: number;
  mem_limit?: string;
  tmpfs?: string[];
  networks?: string[];
  secrets?: string[];
  privileged?: boolean;
  network_mode?: string;
  cap_add?: string[];
  deploy?: { resources: { reservations: { devices: { driver: string; capabilities: string[] }[] } } };
}
interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
  secrets: Record<string, { file: string }>;
}

/** The YAML library that the trainer's environment has. */
function parseYaml(path: string): unknown {
  const script = 'import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)';
  return JSON.parse(execFileSync(pythonPath(), ['-c', script, join(repository, path)], { encoding: 'utf8' }));
}

let compose: Compose;
let services: [string, Service][];
beforeAll(() => {
  compose = parseYaml('infra/compose.yaml') as Compose;
  services = Object.entries(compose.services);
});

const workers = (profile: string): Service[] =>
  services
    .filter(
      ([, { image, command, profiles }]) =>
        image.startsWith('genenv-') && command?.[0] === '--queues' && (profiles?.includes(profile) ?? true),
    )
    .map(([, service]) => service);
const service = (name: string): Service => defined(compose.services[name]);
const environmentOf = (name: string): Record<string, string> => defined(service(name).environment);
const commandOf = (name: string): string[] => defined(service(name).command);

describe('infra/compose.yaml', () => {
  test('is accepted by docker compose, with both profiles', (context) => {
    if (spawnSync('docker', ['compose', 'version']).status !== 0)
      context.skip('`docker compose` is not installed here; the structure is checked below');
    const args = [
      'compose',
      '--file',
      'infra/compose.yaml',
      '--profile',
      'gpu',
      '--profile',
      'cpu',
      'config',
      '--quiet',
    ];
    const { status, stderr } = spawnSync('docker', args, {
      cwd: repository,
      encoding: 'utf8',
      env: { ...process.env, POSTGRES_PASSWORD: 'a', VLLM_API_KEY: 'b' },
    });
    expect(status, stderr).toBe(0);
  });

  test('pins every image', () => {
    for (const [name, { image, build }] of services)
      expect(image, name).toMatch(
        build ? /^genenv-[\w-]+:\d+\.\d+\.\d+$/ : /^[\w./-]+:v?\d+\.\d+[\w.-]*@sha256:[0-9a-f]{64}$/,
      );
    const version = (name: string): string | undefined => service(name).image.split(/[:@]/)[1];
    expect(new Set(['temporal', 'temporal-schema', 'temporal-namespace'].map(version)).size).toBe(1);
  });

  test('builds from, and mounts, files that are there', () => {
    for (const [name, { build, volumes = [] }] of services) {
      if (build) expect(exists(join('infra', build.context, build.dockerfile)), name).toBe(true);
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('./')) expect(exists(join('infra', source)), `${name}: ${source}`).toBe(true);
        else if (!source.startsWith('$')) expect(compose.volumes, name).toHaveProperty(source);
      }
    }
  });

  test('waits only for what can be waited for', () => {
    for (const [name, { depends_on = {} }] of services) {
      for (const [dependency, { condition }] of Object.entries(depends_on)) {
        expect(compose.services, `${name} waits for ${dependency}`).toHaveProperty(dependency);
        if (condition === 'service_healthy')
          expect(
            service(dependency).healthcheck,
            `${name} waits for the health of ${dependency}`,
          ).toBeDefined();
      }
    }
  });

  test('checks the health of everything that stays up and is waited for or works', () => {
    const without = services.filter(([, { healthcheck }]) => !healthcheck).map(([name]) => name);
    expect(without).toEqual(['temporal-schema', 'temporal-namespace', 'temporal-ui']);
  });

  test('starts the UI of Temporal, which asks nobody who they are, on request alone', () => {
    expect(service('temporal-ui').profiles).toEqual(['ui']);
  });

  test('holds no secret, and refuses to start without one', () => {
    const text = read('infra/compose.yaml');
    for (const [, name, value] of text.matchAll(/^\s+(\w*(?:PASSWORD|PWD|KEY)\w*): (.+)$/gm))
      expect(value, name).toMatch(/^(?:&[\w-]+ )?\$\{\w+:\?.+\}$|^\*[\w-]+$/);
    const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name]) => defined(name));
    for (const name of new Set(names))
      expect(read('infra/example.env'), name).toMatch(new RegExp(`^#?${name}=`, 'm'));
  });

  test('confines every container', () => {
    for (const [name, container] of services) {
      expect(container, name).toMatchObject({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        pids_limit: expect.any(Number) as number,
        mem_limit: expect.stringMatching(/^(\d+g|\$\{\w+_MEMORY:-\d+g\})$/) as string,
      });
      // Its program writes its settings beside itself.
      if (name !== 'temporal-ui') expect(container.read_only, name).toBe(true);
      expect(
        container.tmpfs?.some((mount) => mount.startsWith('/tmp')),
        name,
      ).toBe(true);
      for (const key of ['privileged', 'network_mode', 'cap_add'] as const)
        expect(container, name).not.toHaveProperty(key);
    }
  });

  test('runs nothing as root: own images and those of Temporal have a user, the others are given one', () => {
    for (const [name, { image, user }] of services) {
      if (/^(genenv-|temporalio\/(server|admin-tools):)/.test(image)) expect(user, name).toBeUndefined();
      else expect(user, name).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    }
  });

  test('keeps model servers away from Temporal, from the database and from other machines', () => {
    const networksOf = (name: string): string[] => defined(service(name).networks);
    for (const [name] of services) expect(networksOf(name).length, name).toBeGreaterThan(0);
    for (const name of ['vllm', 'policy-server']) expect(networksOf(name)).toEqual(['models']);
    expect(networksOf('postgresql')).toEqual(['data']);
    const reaching = services.filter(([, { networks }]) => networks?.includes('data')).map(([name]) => name);
    expect(reaching).toEqual(['postgresql', 'temporal-schema', 'temporal']);
    expect(compose.networks).toEqual({ data: { internal: true }, control: null, models: { internal: true } });
  });

  test('gives keys of models only to those who need them', () => {
    const holders = (variable: string): string[] =>
      services.filter(([, { environment }]) => environment?.[variable] !== undefined).map(([name]) => name);
    expect(holders('VLLM_API_KEY')).toEqual(['worker', 'vllm']);
    expect(holders('GENENV_POLICY_TOKEN')).toEqual([]);
    expect(holders('GENENV_POLICY_TOKEN_FILE')).toEqual(['worker', 'policy-server']);
    const receivers = services.filter(([, { secrets }]) => secrets !== undefined).map(([name]) => name);
    expect(receivers).toEqual(['worker', 'policy-server']);
    for (const name of receivers) {
      expect(service(name).secrets).toEqual(['policy-token']);
      expect(environmentOf(name).GENENV_POLICY_TOKEN_FILE).toBe('/run/secrets/policy-token');
    }
    expect(compose.secrets['policy-token']?.file).toMatch(/policy-token$/);
    const passwords = services.filter(([, { environment = {} }]) =>
      Object.values(environment).some((value) => value.includes('POSTGRES_PASSWORD')),
    );
    expect(passwords.map(([name]) => name)).toEqual(['postgresql', 'temporal-schema', 'temporal']);
  });

  test('publishes ports to this machine only', () => {
    for (const [name, { ports = [] }] of services)
      for (const port of ports) expect(port, name).toMatch(/^127\.0\.0\.1:/);
  });

  test.each(['gpu', 'cpu'])(
    'serves each queue once with the profile %s, with settings that a worker takes',
    (profile) => {
      const served = workers(profile).flatMap(
        ({ environment, command }) => workerSettings(defined(environment), command?.[1]).queues,
      );
      expect(served.toSorted()).toEqual(['cpu', 'gpu', 'llm', 'workflows']);
    },
  );

  test('gives workers nothing that they do not read', () => {
    const readByWorkers = [...read('src/worker/settings.ts').matchAll(/environment\.(\w+)/g)].map(
      ([, name]) => name,
    );
    const experiment = parseExperiment(JSON.parse(read('infra/vllm.json')));
    const readVariables = new Set([
      ...readByWorkers,
      'GENENV_HOME',
      'TEMPORAL_ADDRESS',
      'TEMPORAL_NAMESPACE',
      ...(experiment.serving.type === 'openai' ? [experiment.serving.apiKeyEnv] : []),
      'GENENV_POLICY_TOKEN_FILE',
    ]);
    for (const worker of [...workers('gpu'), ...workers('cpu')])
      for (const name of Object.keys(defined(worker.environment))) expect(readVariables).toContain(name);
  });

  test('shows the store to workers and model servers under one path, to model servers for reading only', () => {
    const mounts = services.flatMap(([name, { volumes = [] }]) =>
      volumes.filter((volume) => volume.startsWith('store:')).map((volume) => [name, volume]),
    );
    expect(mounts.map(([name]) => name).toSorted()).toEqual([
      'policy-server',
      'vllm',
      'worker',
      'worker-cpu-trainer',
      'worker-gpu',
    ]);
    for (const [name, volume] of mounts)
      expect(volume).toBe(
        ['vllm', 'policy-server'].includes(name ?? '') ? 'store:/var/lib/genenv:ro' : 'store:/var/lib/genenv',
      );
    const { store, policyServer } = workerSettings(environmentOf('worker'), undefined);
    const command = commandOf('policy-server');
    expect(command).toContain(store);
    expect(defined(command[command.indexOf('--allowed-hosts') + 1]).split(',')).toEqual([
      new URL(policyServer).hostname,
      '127.0.0.1',
    ]);
    expect(new URL(policyServer).host).toBe(
      `policy-server:${defined(command[command.indexOf('--port') + 1])}`,
    );
  });

  test('reserves GPUs for the trainer and for vLLM', () => {
    for (const name of ['worker-gpu', 'vllm'])
      expect(defined(service(name).deploy).resources.reservations.devices[0]).toMatchObject({
        driver: 'nvidia',
        capabilities: ['gpu'],
      });
  });
});

describe('infra/vllm.json', () => {
  test('is an experiment file that fits the vLLM service', () => {
    const { serving, agent, environment, trainer } = parseExperiment(JSON.parse(read('infra/vllm.json')));
    if (serving.type !== 'openai') throw new Error(`serving.type is ${serving.type}`);
    const flags = Object.fromEntries(
      commandOf('vllm').map((flag) => /^([^=]+)=?(.*)$/.exec(flag)?.slice(1) as [string, string]),
    );
    expect(new URL(serving.baseUrl).host).toBe(`vllm:${defined(flags['--port'])}`);
    expect(serving.publish).toBe('vllm-lora');
    expect(service('vllm').environment).toHaveProperty('VLLM_ALLOW_RUNTIME_LORA_UPDATING', 'True');
    expect(flags).toMatchObject({
      '--enable-lora': '',
      '--logprobs-mode': 'processed_logprobs',
      '--generation-config': 'vllm',
    });
    expect(environmentOf('worker')).toHaveProperty(defined(serving.apiKeyEnv));
    const largestRank = Number(/:-(\d+)\}/.exec(defined(flags['--max-lora-rank']))?.[1]);
    for (const { model } of [agent, environment]) {
      if (model.type !== 'pretrained') throw new Error(`model.type is ${model.type}`);
      expect(model.path).toBe(flags['--model']);
      expect(defined(model.adapter).r).toBeLessThanOrEqual(largestRank);
    }
    // There is no resident parent in a container: each job is a process of its own.
    expect(trainer).toMatchObject({ launcher: { type: 'process' }, device: 'cuda' });
  });
});

describe('infra/temporal/*.sh', () => {
  test.each(['setup-schema.sh', 'create-namespace.sh'])('%s parses', (script) => {
    const shell = existsSync('/bin/dash') ? '/bin/dash' : '/bin/sh';
    const { status, stderr } = spawnSync(shell, ['-n', join(repository, 'infra/temporal', script)], {
      encoding: 'utf8',
    });
    expect(status, stderr).toBe(0);
  });
});
