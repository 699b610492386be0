import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Attempt, Ports } from '../activities/ports.ts';
import { benchmarks } from '../benchmarks/benchmarks.ts';
import { suiteHost } from '../benchmarks/suite-host.ts';
import { SuiteLoader } from '../benchmarks/suite-loader.ts';
import { openAIChatServer } from '../policies/chat-server.ts';
import { policyServerFor } from '../policies/policy-server-for.ts';
import { loadOnVllm } from '../policies/load-on-vllm.ts';
import { ComparisonFolder } from '../store/comparison-folder.ts';
import { EvaluationFolder } from '../store/evaluation-folder.ts';
import { NightlyFolder } from '../store/nightly-folder.ts';
import { ObjectStore } from '../store/object-store.ts';
import { PhaseKeys } from '../store/phase-keys.ts';
import { RunFolder } from '../store/run-folder.ts';
import type { Damage } from '../store/errors.ts';
import { processLauncher } from '../training/process-launcher.ts';
import { residentLauncher } from '../training/resident-launcher.ts';
import { worldLoader } from '../worlds/load-world.ts';
import type { WorkerSettings } from './settings.ts';

/** The concrete parts behind the ports. Trainer processes are given the environment here, and nowhere else. */
export function createPorts(
  settings: WorkerSettings,
  environment: NodeJS.ProcessEnv,
  options: { attempt: () => Attempt; searchAttributes: boolean; onDamage: (damage: Damage) => void },
): Ports {
  const { store, runs, devices, python, onShutdown } = settings;
  mkdirSync(devices, { recursive: true });
  return {
    // Hashing a checkpoint of many gigabytes takes longer than a heartbeat's timeout, and is progress.
    store: new ObjectStore(store, {
      onDamage: options.onDamage,
      onHashed: (progress) => options.attempt().heartbeat({ hashing: progress }),
    }),
    keys: new PhaseKeys(store, { onDamage: options.onDamage }),
    world: worldLoader(settings.worlds),
    runFolder: (id) => new RunFolder(runs, id),
    // Beside the runs, which hosts share.
    nightlyFolder: (name) => new NightlyFolder(join(runs, '..', 'nightly'), name),
    comparisonFolder: (id) => new ComparisonFolder(join(runs, '..', 'comparisons'), id),
    evaluationFolder: (id) => new EvaluationFolder(join(runs, '..', 'evaluations'), id),
    suites: new SuiteLoader(
      benchmarks,
      suiteHost(settings.benchmarks, (name) => environment[name]),
    ),
    policyServer: (serving, timeoutMs) =>
      serving.type === 'embedded'
        ? policyServerFor(serving, { baseUrl: settings.policyServer, apiKey: undefined, timeoutMs })
        : policyServerFor(serving, {
            baseUrl: serving.baseUrl,
            apiKey: secret(environment, serving.apiKeyEnv),
            timeoutMs,
          }),
    chatServer: (server, timeoutMs) =>
      openAIChatServer(
        server === null
          ? { baseUrl: settings.policyServer, apiKey: undefined, timeoutMs }
          : { baseUrl: server.baseUrl, apiKey: secret(environment, server.apiKeyEnv), timeoutMs },
      ),
    loadOnServer: (serving, name, folder) =>
      loadOnVllm(serving, secret(environment, serving.apiKeyEnv), name, folder),
    launcher: ({ launcher }) =>
      launcher.type === 'resident'
        ? residentLauncher(settings.trainerSocket)
        : processLauncher(python, {
            ...environment,
            PYTHONPATH: join(import.meta.dirname, '..', '..', 'trainer'),
          }),
    python,
    devices,
    onShutdown,
    searchAttributes: options.searchAttributes,
    onDamage: options.onDamage,
    attempt: options.attempt,
  };
}

function secret(environment: NodeJS.ProcessEnv, name: string | null): string | undefined {
  if (name === null) return undefined;
  const value = environment[name];
  if (value === undefined)
    throw new Error(`apiKeyEnv: the environment variable ${name} is not set on this worker`);
  return value;
}
